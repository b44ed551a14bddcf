"""One running sandbox as the judge holds it: pipes, pidfds, cgroups, and an end that leaves nothing."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from grader.sandbox import pidfd
from grader.sandbox.base import Exit, SandboxError, Usage
from grader.sandbox.census import Census
from grader.sandbox.cgroup import Group
from grader.sandbox.freezer import Cgroup1Freezer, Cgroup2Freezer
from grader.sandbox.held import HeldProcess
from grader.sandbox.status import Status

_SIGNALLED = 128
"""bubblewrap exits with this plus the number of the signal that ended the program."""


@dataclass(frozen=True)
class Parts:
    """What a backend's `start` has made, and the process now owns. All pidfds and pipes are ours to close."""

    monitor: int
    """pidfd of our own child: bubblewrap's monitor, or the program itself where there is none."""
    host_pid: int
    stdout: int
    stderr: int
    group: Group | None
    init: int | None = None
    """pidfd of the namespace's first process, whose death is the death of all in the namespace."""
    program: int | None = None
    """pidfd of the program, where it is not our child."""
    status: Status | None = None
    """bubblewrap's account of the program."""
    census: Census | None = None
    """Counts from `init` down what no cgroup counts."""
    on_end: Sequence[Callable[[], None]] = field(default_factory=tuple)
    """Called once nothing is left of it: what it held must not be given to others before."""


class SandboxProcess(HeldProcess):
    """Implements `base.Process` for a child of ours, with or without bubblewrap around it."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts.monitor, parts.host_pid, parts.stdout, parts.stderr)
        self._parts = parts
        self._group = parts.group

    @property
    def freezer(self) -> Cgroup1Freezer | Cgroup2Freezer | None:
        """The group's freezer; None where the machine has none, and once all has ended."""
        return None if self._group is None or self._exit is not None else self._group.freezer

    def usage(self) -> Usage:
        """What it has used so far; final once it has ended."""
        with self._lock:
            if self._exit is not None:
                return self._exit.usage
            usage = Usage(0.0, None, 0, 0) if self._group is None else self._group.usage()
            return usage if self._parts.census is None else self._counted(usage, self._parts.census)

    def _counted(self, usage: Usage, census: Census) -> Usage:
        """With what is counted from outside; who holds too much memory is killed as the kernel would."""
        init = self._parts.init
        assert init is not None
        taken = census.take()
        if not pidfd.ended(init):  # Else its number may be another's by now.
            census.note(taken)
        if census.memory_is_passed:
            pidfd.kill(init)
        return replace(
            usage,
            cpu_seconds=max(usage.cpu_seconds, census.cpu_seconds),
            memory_peak_bytes=usage.memory_peak_bytes or census.memory_peak_bytes or None,
            oom_kills=usage.oom_kills + census.memory_is_passed,
        )

    def _release(self) -> None:
        parts = self._parts
        status = None if parts.status is None else parts.status.descriptor
        for descriptor in (self.stdout, self.stderr, self.pidfd, parts.init, parts.program, status):
            if descriptor is not None:
                os.close(descriptor)
        if self._group is not None:
            self._group.close()

    def _end(self, timeout_seconds: float) -> Exit:
        deadline = time.monotonic() + timeout_seconds
        by_itself = pidfd.ended(self.pidfd)
        self._kill_all()
        for descriptor in (self._parts.init, self.pidfd):
            if descriptor is not None and not pidfd.ended(descriptor, deadline - time.monotonic()):
                raise SandboxError(f"a sandbox outlived SIGKILL by {timeout_seconds:g} s")
        code, number = self._outcome(by_itself=by_itself)
        usage = self.usage()
        if self._group is not None:
            self._group.remove(max(deadline - time.monotonic(), 0.0))
        self._exit = Exit(code, number, usage, syscall_violation=number == signal.SIGSYS)
        for release in self._parts.on_end:
            release()
        return self._exit

    def _kill_all(self) -> None:
        # The namespace's init first, from outside: with it dies all that is in the namespace.
        for descriptor in (self._parts.init, self.pidfd):
            if descriptor is not None:
                pidfd.kill(descriptor)
        if self._parts.init is None:
            # Without a namespace its process group is the best there is. The number is safe: it is our
            # child's, whom we have not reaped.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.host_pid, signal.SIGKILL)
        if self._group is not None:
            self._group.kill()

    def _outcome(self, *, by_itself: bool) -> pidfd.Status:
        """(code, signal) of the program; our own SIGKILL if it had not ended by itself."""
        own = pidfd.reap(self.pidfd)
        status, program = self._parts.status, self._parts.program
        if status is None or program is None:
            return own
        status.poll()
        if not by_itself or status.exit_code is None:
            return None, signal.SIGKILL
        exact = pidfd.status(program)
        if exact != (None, None):
            return exact
        # bubblewrap's convention: a program that itself exits with 128 + n reads as killed by n.
        killed_by = status.exit_code - _SIGNALLED
        return (None, killed_by) if killed_by in signal.valid_signals() else (status.exit_code, None)


def abandon(child: int, group: Group | None) -> None:
    """Kill and reap a child of ours whose start has failed, with all in its group, and close its pidfd."""
    pidfd.kill(child)
    if group is not None:
        group.kill()
    if pidfd.ended(child, HeldProcess.END_SECONDS):
        pidfd.reap(child)
    os.close(child)
