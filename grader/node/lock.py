"""One job at a time on a node's hardware, whatever number of workers it runs."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

POLL_SECONDS = 0.05


class HardwareLock:
    """The lock of a hardware class on this node; the kernel lets go of it when its holder dies.

    For one thread at a time: whoever shares the object sees to that.
    """

    def __init__(self, home: Path, hardware: str) -> None:
        """Nothing is taken yet."""
        self.path = home / "locks" / f"{hardware}.lock"
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether it has been taken through this object."""
        return self._descriptor is not None

    def try_take(self) -> bool:
        """Take it if nobody holds it. Raises OSError where the file cannot be made."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def take(self, interrupted: Callable[[], None]) -> None:
        """Wait for it; `interrupted` is called meanwhile, and raises if the job must not go on."""
        while not self.try_take():
            interrupted()
            time.sleep(POLL_SECONDS)

    def release(self) -> None:
        """Let the next one have it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
