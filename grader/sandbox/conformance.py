"""Break each limit with a small program, for real, and see whether the sandbox holds it.

`solmark doctor` runs this on every backend and machine: a limit is believed only when its breach failed.
"""

import dataclasses
import socket
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.sandbox import trial
from grader.sandbox.base import MIB, Backend, Command, Limit, Limits
from grader.sandbox.trial import Outcome

_LIMITS = Limits(
    wall_seconds=20,
    cpu_seconds=20,
    memory_bytes=96 * MIB,
    processes=16,
    output_bytes=64 << 10,
    disk_bytes=4 * MIB,
    shm_bytes=4 * MIB,
    inodes=32,
    open_files=80,
)
_FILL = """
    import os
    written = 0
    try:
        descriptor = os.open(os.path.join({folder}, 'solmark-doctor'), os.O_CREAT | os.O_WRONLY)
        while written < {most}:
            written += os.write(descriptor, bytes(65536))
    except OSError:
        pass
    finally:
        os.unlink(os.path.join({folder}, 'solmark-doctor'))
    print(written)
"""
_TEMPORARY = "os.environ['TMPDIR']"


@dataclass(frozen=True)
class Finding:
    """Whether a limit held, and what was seen: `took` against `limit` in the limit's own unit."""

    limit: Limit
    held: bool
    seen: str


@dataclass(frozen=True)
class _Breach:
    """A program that passes a limit unless it is stopped, its limits, and how to read its end."""

    code: str
    read: Callable[[Outcome, Limits], tuple[bool, str]]
    limits: Limits = _LIMITS


def limits() -> frozenset[Limit]:
    """Limits that `check` can break: all but GPU memory, which needs a GPU."""
    return frozenset(_BREACHES)


def check(backend: Backend, limit: Limit) -> Finding:
    """Break one limit. Raises SandboxError if the sandbox fails, KeyError for a limit not in `limits()`."""
    breach = _BREACHES[limit]
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = textwrap.dedent(breach.code).replace("{port}", str(server.getsockname()[1]))
        command = Command([backend.python, "-I", "-S", "-c", code])
        outcome = trial.run(backend, command, breach.limits)
    held, seen = breach.read(outcome, breach.limits)
    return Finding(limit, held, seen)


def _stopped(limit: Limit) -> Callable[[Outcome, Limits], tuple[bool, str]]:
    """The limit was passed, and the program was stopped for it."""
    return lambda outcome, _: (outcome.stopped_by == limit, f"{outcome.seconds:.2f} s")


def _memory(outcome: Outcome, limits: Limits) -> tuple[bool, str]:
    ended = outcome.exit.out_of_memory or "refused" in outcome.text
    return ended and "took" not in outcome.text, f"{limits.memory_bytes // MIB} MiB"


def _at_most(amount: Callable[[Limits], int]) -> Callable[[Outcome, Limits], tuple[bool, str]]:
    """The program prints how much it got, which must be no more than the limit, and not nothing."""

    def read(outcome: Outcome, limits: Limits) -> tuple[bool, str]:
        text = outcome.text.strip()
        got = int(text) if text.isdecimal() else None
        return got is not None and 0 < got <= amount(limits), f"{text or '?'} / {amount(limits)}"

    return read


def _unreachable(outcome: Outcome, _: Limits) -> tuple[bool, str]:
    return outcome.text == "unreachable\n", outcome.text.strip() or "?"


_BREACHES: Mapping[Limit, _Breach] = {
    Limit.WALL: _Breach(
        "import time; time.sleep(60)", _stopped(Limit.WALL), dataclasses.replace(_LIMITS, wall_seconds=0.3)
    ),
    Limit.CPU: _Breach(
        "import os; os.fork()\nwhile True: pass",
        _stopped(Limit.CPU),
        dataclasses.replace(_LIMITS, cpu_seconds=0.3),
    ),
    Limit.MEMORY: _Breach(
        """
        held = []
        try:
            for _ in range(192):
                held.append(bytearray(b'x') * (1 << 20))
        except MemoryError:
            held.clear()
            print('refused', flush=True)
        else:
            print('took all', flush=True)
        """,
        _memory,
    ),
    Limit.PROCESSES: _Breach(
        """
        import os, signal, time
        children = []
        try:
            while len(children) < 63:
                child = os.fork()
                if child == 0:
                    time.sleep(60)
                    os._exit(0)
                children.append(child)
        except OSError:
            pass
        print(len(children) + 1, flush=True)
        for child in children:
            os.kill(child, signal.SIGKILL)
        """,
        _at_most(lambda limits: limits.processes),
    ),
    Limit.OUTPUT: _Breach("import os\nwhile True: os.write(1, bytes(65536))", _stopped(Limit.OUTPUT)),
    Limit.DISK: _Breach(
        _FILL.format(folder=_TEMPORARY, most=16 * MIB), _at_most(lambda limits: limits.disk_bytes)
    ),
    Limit.SHM: _Breach(
        _FILL.format(folder="'/dev/shm'", most=16 * MIB), _at_most(lambda limits: limits.shm_bytes)
    ),
    Limit.INODES: _Breach(
        """
        import os, shutil
        folder = os.environ['TMPDIR'] + '/solmark-doctor'
        count = 0
        try:
            os.mkdir(folder)
            while count < 256:
                open(f'{folder}/{count}', 'w').close()
                count += 1
        except OSError:
            pass
        shutil.rmtree(folder, ignore_errors=True)
        print(count)
        """,
        _at_most(lambda limits: limits.inodes),
    ),
    Limit.OPEN_FILES: _Breach(
        """
        import os
        count = 3
        try:
            while count < 512:
                os.dup(0)
                count += 1
        except OSError:
            pass
        print(count)
        """,
        _at_most(lambda limits: limits.open_files),
    ),
    Limit.NETWORK: _Breach(
        """
        import socket
        try:
            socket.create_connection(('127.0.0.1', {port}), timeout=5)
            print('reached the host')
        except OSError:
            print('unreachable')
        """,
        _unreachable,
    ),
}
