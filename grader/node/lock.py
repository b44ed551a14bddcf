"""One job at a time on a node's hardware, whatever number of workers it runs."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.2


@contextmanager
def hardware_lock(home: Path, hardware: str, interrupted: Callable[[], None]) -> Iterator[Path]:
    """Hold the lock of a hardware class; gives its path.

    `interrupted` is called while waiting, and raises if the job must not go on.
    """
    folder = home / "locks"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{hardware}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not _try(descriptor):
            interrupted()
            time.sleep(POLL_SECONDS)
        yield path
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
