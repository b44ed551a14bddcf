"""A small process beside the judge: ends it when a call of its own lets not even the supervisor run.

Python code that never gives up the interpreter (`9**9**9`) stops every thread and every signal handler of the
judge. This process waits outside: it is told each watched call and its last moment, and otherwise sleeps, so
that it disturbs no clock. `python -m grader.judge.watcher PID` reads one JSON line a change from stdin.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time

INTERRUPT_SECONDS = 15.0
"""Between a signal to the whole group (such as Ctrl-C) and the end of a judge that does not heed it."""
_END_SECONDS = 5.0


class Watcher:
    """The judge's end of it. Starts the process; `close` ends it."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-m", "grader.judge.watcher", str(os.getpid())]
        # It says why on the judge's stderr, and is in its process group: Ctrl-C reaches both.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert self._process.stdin is not None
        self._pipe = self._process.stdin.fileno()
        os.set_blocking(self._pipe, False)

    def tell(self, what: str, last: float) -> None:
        """From now on `what` runs, and must be over at `last` (of time.monotonic())."""
        self._send({"what": what, "last": last})

    def rest(self) -> None:
        """Nothing runs that could hang."""
        self._send({"what": "", "last": None})

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: dict[str, object]) -> None:
        # A watcher that is gone must not end a grading: the supervisor is still there.
        with contextlib.suppress(OSError):
            os.write(self._pipe, json.dumps(message).encode() + b"\n")


def main(judge: int) -> None:
    """Until the judge closes the pipe, or has to be ended."""
    try:
        handle = os.pidfd_open(judge)
    except ProcessLookupError:
        return
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    what, unread = "", b""
    last: float | None = None
    interrupted: float | None = None
    while True:
        limits = [limit for limit in (last, interrupted) if limit is not None]
        left = max(0.0, min(limits) - time.monotonic()) if limits else None
        ready, _, _ = select.select([0, woken], [], [], left)
        if woken in ready:
            os.read(woken, 64)
            interrupted = interrupted or time.monotonic() + INTERRUPT_SECONDS
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                told = json.loads(line)
                what, last = told["what"], told["last"]
        elif not ready:
            _end(handle, what)
            return


def _end(handle: int, what: str) -> None:
    """Kill the judge, and what of its sandboxes does not end with it."""
    sys.stderr.write(
        f"{what or 'the judge'} did not come back within its time and let nothing else run: "
        "the grading was ended without a report\n"
    )
    sys.stderr.flush()
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    select.select([handle], [], [], _END_SECONDS)
    from grader.sandbox import reaper
    from grader.sandbox.base import SandboxError

    with contextlib.suppress(OSError, SandboxError):
        reaper.reap()


if __name__ == "__main__":
    main(int(sys.argv[1]))
