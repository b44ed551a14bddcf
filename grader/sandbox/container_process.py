"""One running Docker sandbox as the judge holds it, and an end that leaves nothing."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.sandbox import pidfd
from grader.sandbox.base import Exit, SandboxError, Usage
from grader.sandbox.cgroup import Group
from grader.sandbox.freezer import Cgroup1Freezer, Cgroup2Freezer
from grader.sandbox.held import HeldProcess

_REPORT_SECONDS = 2.0
_READ_BYTES = 64


@dataclass(frozen=True)
class Parts:
    """What the backend's `start` has made, and the process now owns. All descriptors are ours to close."""

    init: int
    """pidfd of the container's first process, whose death is the death of all in the container."""
    init_pid: int
    program: int
    """pidfd of the program."""
    program_pid: int
    stdout: int
    stderr: int
    status: int
    """Where the first process says how the program ended."""
    group: Group
    ran_out_of_memory: Callable[[], bool]
    """What Docker says, for when the first process was killed and nothing can be read from the cgroups."""
    remove: Sequence[Callable[[], None]]
    """Called in this order once all is dead: the container, the session's folder, the uid."""


class ContainerProcess(HeldProcess):
    """Implements `base.Process` for a container; killing it removes the container too."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts.program, parts.program_pid, parts.stdout, parts.stderr)
        self._parts = parts
        self._usage = Usage(0.0, None, 0, 0)

    @property
    def freezer(self) -> Cgroup1Freezer | Cgroup2Freezer | None:
        """The freezer of the container's own cgroup; None where it has none, and once all has ended."""
        return None if self._exit is not None else self._parts.group.freezer

    def usage(self) -> Usage:
        """What it has used so far; final once it has ended."""
        with self._lock:
            if self._exit is not None:
                return self._exit.usage
            # Docker removes the cgroups of a container whose first process has been killed.
            with contextlib.suppress(SandboxError):
                self._usage = self._parts.group.usage()
            return self._usage

    def _release(self) -> None:
        parts = self._parts
        for descriptor in (parts.stdout, parts.stderr, parts.init, parts.program, parts.status):
            os.close(descriptor)
        parts.group.close()

    def _end(self, timeout_seconds: float) -> Exit:
        parts = self._parts
        deadline = time.monotonic() + timeout_seconds
        by_itself = pidfd.ended(parts.program)
        code, number = self._outcome() if by_itself else (None, signal.SIGKILL)
        # The first process goes last: while it lives, so do the cgroups and what they have counted.
        parts.group.clear(parts.init_pid, timeout_seconds)
        usage = self.usage()
        if pidfd.ended(parts.init) and not usage.oom_kills and parts.ran_out_of_memory():
            usage = replace(usage, oom_kills=1)
        pidfd.kill(parts.init)
        if not pidfd.ended(parts.init, max(deadline - time.monotonic(), 0.0)):
            raise SandboxError(f"a container outlived SIGKILL by {timeout_seconds:g} s")
        for remove in parts.remove:
            remove()
        parts.group.remove(max(deadline - time.monotonic(), 0.0))
        self._exit = Exit(code, number, usage, syscall_violation=number == signal.SIGSYS)
        return self._exit

    def _outcome(self) -> pidfd.Status:
        """(code, signal) of a program that has ended; SIGKILL if the first process did not live to tell."""
        exact = pidfd.status(self._parts.program)
        if exact != (None, None):
            return exact
        deadline = time.monotonic() + _REPORT_SECONDS
        told = b""
        while not told.endswith(b"\n") and time.monotonic() < deadline:
            try:
                chunk = os.read(self._parts.status, _READ_BYTES)
            except BlockingIOError:
                pidfd.ended(self._parts.init, 0.001)
                continue
            if not chunk:
                break
            told += chunk
        if not told.endswith(b"\n"):
            return None, signal.SIGKILL
        status = int(told)
        if os.WIFSIGNALED(status):
            return None, os.WTERMSIG(status)
        return os.waitstatus_to_exitcode(status), None
