"""What every running sandbox has in common, whatever holds it: who may kill it, and when it is released."""

import threading
from abc import ABC, abstractmethod
from typing import Self

from grader.sandbox import pidfd
from grader.sandbox.base import Exit


class HeldProcess(ABC):
    """The part of `base.Process` that backends share. Any thread may kill it; one owns it and closes it.

    `pidfd` is of the process whose end is the end of the program; all descriptors are this object's to close.
    """

    END_SECONDS = 60.0
    """How long killing may take if the caller does not say. The kernel has to take apart what a program has
    piled up: gigabytes of small objects take ten seconds on a busy machine. What lives on then is stuck."""

    def __init__(self, pidfd: int, host_pid: int, stdout: int, stderr: int) -> None:
        self.pidfd = pidfd
        self.host_pid = host_pid
        self.stdout = stdout
        self.stderr = stderr
        self._exit: Exit | None = None
        self._closed = False
        self._lock = threading.RLock()

    def wait(self, timeout_seconds: float) -> Exit | None:
        """Its exit, after all that it left behind has been killed too; None if it still runs."""
        if self._exit is None and pidfd.ended(self.pidfd, timeout_seconds):
            self.kill()
        return self._exit

    def kill(self, timeout_seconds: float | None = None) -> Exit:
        """Kill everything in it and wait until nothing is left; raise SandboxError if something is.

        A program that had ended by itself keeps its own exit.
        """
        with self._lock:
            return self._exit or self._end(self.END_SECONDS if timeout_seconds is None else timeout_seconds)

    def close(self) -> None:
        """Kill if needed, then release all descriptors, also when the killing failed; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            self.kill()
        finally:
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _end(self, timeout_seconds: float) -> Exit:
        """Kill all, wait until nothing is left, note the exit in `_exit`. Raises SandboxError."""

    @abstractmethod
    def _release(self) -> None:
        """Close every descriptor."""
