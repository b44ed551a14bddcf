"""One running sandbox as the judge holds it: pipes, pidfds, cgroups, and an end that leaves nothing."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Sequence

from grader.sandbox.base import Exit, SandboxError, Usage
from grader.sandbox.cgroup import Group
from grader.sandbox.freezer import Cgroup1Freezer, Cgroup2Freezer
from grader.sandbox.status import Status

_END_SECONDS = 5.0
_SIGNALLED = 128
"""bubblewrap exits with this plus the number of the signal that ended the program."""


class SandboxProcess:
    """Implements `base.Process`; made by a backend's `start`.

    `first` is our own child (bubblewrap's monitor, or the program itself under `plain`), `init` the pidfd of
    the namespace's first process, whose death is the death of all in the namespace. `status` is bubblewrap's,
    or None where the child's own status is the program's.
    """

    def __init__(
        self,
        *,
        first: int,
        init: int | None,
        host_pid: int,
        stdout: int,
        stderr: int,
        status: Status | None,
        group: Group | None,
        on_close: Sequence[Callable[[], None]],
    ) -> None:
        self.pidfd = first
        self.host_pid = host_pid
        self.stdout = stdout
        self.stderr = stderr
        self._init = init
        self._status = status
        self._group = group
        self._on_close = list(on_close)
        self._exit: Exit | None = None
        self._closed = False

    @property
    def freezer(self) -> Cgroup1Freezer | Cgroup2Freezer | None:
        """The group's freezer, None where the machine has none or all is over."""
        return None if self._group is None else self._group.freezer

    def usage(self) -> Usage:
        """What it has used so far; final once it has ended."""
        if self._exit is not None:
            return self._exit.usage
        return Usage(0.0, None, 0, 0) if self._group is None else self._group.usage()

    def wait(self, timeout_seconds: float) -> Exit | None:
        """Its exit, after all that it left behind has been killed too; None if it still runs."""
        if self._exit is None and _readable(self.pidfd, timeout_seconds):
            self._end(_END_SECONDS)
        return self._exit

    def kill(self, timeout_seconds: float = _END_SECONDS) -> Exit:
        """Kill everything in it and wait until nothing is left; raise SandboxError if something is.

        A program that had ended by itself keeps its own exit.
        """
        return self._exit or self._end(timeout_seconds)

    def close(self) -> None:
        """Kill if needed, then release everything, also when the killing failed; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        try:
            self.kill()
        finally:
            status = None if self._status is None else self._status.descriptor
            for descriptor in (self.stdout, self.stderr, self.pidfd, self._init, status):
                if descriptor is not None:
                    os.close(descriptor)
            for release in self._on_close:
                release()

    def __enter__(self) -> "SandboxProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self, timeout_seconds: float) -> Exit:
        deadline = time.monotonic() + timeout_seconds
        ended = _readable(self.pidfd, 0)
        # The namespace's init first, from outside: with it dies all that is in the namespace.
        for descriptor in (self._init, self.pidfd):
            if descriptor is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        if self._status is None:
            # Without a namespace its process group is the best there is. The number is safe: it is our
            # child's, whom we have not reaped.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.host_pid, signal.SIGKILL)
        if self._group is not None:
            self._group.kill()
        for descriptor in (self._init, self.pidfd):
            if descriptor is not None and not _readable(descriptor, deadline - time.monotonic()):
                raise SandboxError(f"a sandbox outlived SIGKILL by {timeout_seconds:g} s")
        code, number = self._outcome(ended=ended)
        usage = self.usage()
        if self._group is not None:
            self._group.remove(max(deadline - time.monotonic(), 0.0))
            self._group = None
        self._exit = Exit(code, number, usage, syscall_violation=number == signal.SIGSYS)
        return self._exit

    def _outcome(self, *, ended: bool) -> tuple[int | None, int | None]:
        """(code, signal) of the program; our own SIGKILL if it had not ended by itself."""
        code, number = reap(self.pidfd)
        if self._status is None:
            return code, number
        self._status.poll()
        reported = self._status.exit_code if ended else None
        if reported is None:
            return None, signal.SIGKILL
        # bubblewrap's convention: a program that itself exits with 128 + n reads as killed by n.
        killed_by = reported - _SIGNALLED
        return (None, killed_by) if killed_by in signal.valid_signals() else (reported, None)


def reap(pidfd: int) -> tuple[int | None, int | None]:
    """(code, signal) of an ended child of ours; neither if somebody else has reaped it."""
    try:
        result = os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
    except ChildProcessError:
        return None, None
    if result is None:
        return None, None
    return (result.si_status, None) if result.si_code == os.CLD_EXITED else (None, result.si_status)


def abandon(pidfd: int, group: Group | None) -> None:
    """Kill and reap a child of ours whose start has failed, with all in its group, and close its pidfd."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    if group is not None:
        group.kill()
    if _readable(pidfd, _END_SECONDS):
        reap(pidfd)
    os.close(pidfd)


def _readable(descriptor: int, timeout_seconds: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(max(timeout_seconds, 0.0) * 1e3))
