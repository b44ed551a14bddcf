"""Runs one grading session in a process of its own, with a deadline and nothing left behind."""

import base64
import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic_core import to_json

from grader.contract import REPORT_BYTES, ContractError, Event, JobSpec, Report, read
from grader.node.orphans import MARK, reap

LINE_BYTES = 4 * REPORT_BYTES
"""A Report of `REPORT_BYTES` may be a longer line: as ASCII, a letter of two bytes takes six."""
STDERR_BYTES = 1 << 16
"""Of what the judge writes to stderr, the end is kept."""
TERM_SECONDS = 5.0
"""Between SIGTERM, on which the judge removes its sandbox, and SIGKILL."""
POLL_SECONDS = 0.25


class JudgeError(RuntimeError):
    """The judge's process failed; `detail` is for staff (the end of its stderr)."""

    def __init__(self, text: str, detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail


def request(
    job: JobSpec, folder: Path, files: Mapping[str, bytes], *, sandbox: str | None, node: str
) -> bytes:
    """What the judge's process reads from stdin: one JSON document, file contents in base64."""
    document = {
        "job": job.model_dump(mode="json"),
        "bundle": str(folder),
        "files": {name: base64.b64encode(data).decode() for name, data in files.items()},
        "backend": sandbox,
        "node": node,
    }
    return json.dumps(document).encode()


def start(command: Sequence[str], lock: Path) -> subprocess.Popen[bytes]:
    """A judge's process on the hardware with that lock, which the caller holds. Raises OSError.

    It dies with the thread that calls, also when the worker is killed: nothing else would end it.
    """
    return subprocess.Popen(
        [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL", "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", MARK: str(lock)},
    )


def discard(process: subprocess.Popen[bytes]) -> None:
    """End a judge that has got no request."""
    process.kill()
    process.wait()
    _close_pipes(process)


def run(
    command: Sequence[str],
    document: bytes,
    *,
    seconds: float,
    on_event: Callable[[Event], None],
    interrupted: Callable[[], None],
    lock: Path,
    waiting: subprocess.Popen[bytes] | None = None,
) -> Report:
    """Run the judge on `document` and return its Report.

    `interrupted` is called several times a second and raises to stop the session; the process and all its
    children are then gone before the exception goes on. `lock` is the hardware's, held by the caller.
    `waiting` is a judge that was started with `settings.AHEAD`; without it `command` starts one. Raises
    JudgeError when the judge ends without a readable Report, or is not done after `seconds`.
    """
    process = waiting or start(command, lock)
    session = _Session(process, document, on_event)
    try:
        session.follow(time.monotonic() + seconds, interrupted)
    finally:
        _end(process, finished=session.report is not None)
        session.close()
        reap(lock)
    if session.report is None:
        raise JudgeError(f"the judge ended with {_status(process)} and without a Report", session.tail)
    return session.report


class _Session:
    """Feeds stdin and reads both outputs without ever blocking on any of the three pipes."""

    def __init__(self, process: subprocess.Popen[bytes], document: bytes, on_event: Callable[[Event], None]):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.report: Report | None = None
        self._process = process
        self._unsent = memoryview(document)
        self._on_event = on_event
        self._line = bytearray()
        self._stderr = bytearray()
        self._selector = selectors.DefaultSelector()
        for pipe, handler, events in (
            (process.stdin, self._write, selectors.EVENT_WRITE),
            (process.stdout, self._read, selectors.EVENT_READ),
            (process.stderr, self._read_error, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, events, handler)

    @property
    def tail(self) -> str:
        """The end of stderr."""
        return self._stderr.decode("utf-8", "replace")

    def follow(self, deadline: float, interrupted: Callable[[], None]) -> None:
        """Until a Report was read or stdout has ended."""
        assert self._process.stdout is not None
        while self.report is None and self._process.stdout in self._selector.get_map():
            interrupted()
            if time.monotonic() > deadline:
                raise JudgeError("the judge passed its hard deadline and was killed", self.tail)
            for key, _ in self._selector.select(POLL_SECONDS):
                key.data()
        if self.report is None:
            # Both pipes end together or nearly so: what it said last is the cause that staff need.
            time.sleep(0.05)
            # Nothing may be there where a child of the judge still holds the pipe.
            with contextlib.suppress(KeyError, ValueError, BlockingIOError):
                self._read_error()

    def close(self) -> None:
        """Close the pipes."""
        self._selector.close()
        _close_pipes(self._process)

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            sent = os.write(self._process.stdin.fileno(), self._unsent[:65536])
        except BrokenPipeError:
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._selector.unregister(self._process.stdin)
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), 65536)
        if not data:
            self._selector.unregister(self._process.stdout)
        self._line += data
        while self.report is None and (end := self._line.find(b"\n")) >= 0:
            self._take(bytes(self._line[:end]))
            del self._line[: end + 1]
        if len(self._line) > LINE_BYTES:
            raise JudgeError(f"the judge wrote a line of more than {LINE_BYTES} bytes", self.tail)

    def _take(self, line: bytes) -> None:
        try:
            document = json.loads(line)
            if "event" in document:
                self._on_event(read(Event, json.dumps(document["event"])))
            elif "ready" not in document:  # Started ahead, and wanted before it said so.
                # Written as a Report is measured: what the session has made fit must fit here.
                self.report = read(Report, to_json(document["report"]))
        except (ContractError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise JudgeError(f"the judge wrote what cannot be read: {error}", self.tail) from error

    def _read_error(self) -> None:
        assert self._process.stderr is not None
        data = os.read(self._process.stderr.fileno(), 65536)
        if not data:
            self._selector.unregister(self._process.stderr)
        self._stderr += data
        del self._stderr[:-STDERR_BYTES]


def _end(process: subprocess.Popen[bytes], *, finished: bool) -> None:
    """End the judge and its session: it may finish, then take its sandbox down on SIGTERM, then is killed.

    It is not reaped before its group is killed, so that the group's number still means this group.
    """
    ended = finished and _ended(process.pid, TERM_SECONDS)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        _ended(process.pid, TERM_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(TERM_SECONDS)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _ended(pid: int, seconds: float) -> bool:
    """Whether the child has ended within `seconds`; leaves it to be reaped."""
    deadline = time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _status(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
