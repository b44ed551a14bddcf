"""User ids for sandboxes: one a session, allotted by file locks so that two sessions never share one."""

import fcntl
import os
import pwd
import secrets
from pathlib import Path

from grader.sandbox.base import SandboxError

FIRST = 61000
"""First uid of the range; systemd and Debian leave 60578-61183 and above to local use."""
COUNT = 1000
FOLDER = Path("/run/solmark/uids")


class Lease:
    """A uid that nobody else on this machine is given until it is released or this process ends."""

    def __init__(self, uid: int, descriptor: int) -> None:
        self.uid = uid
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give the uid back; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lease() -> Lease:
    """Take a free uid of the range, skipping those in the user database. Only root may; SandboxError else."""
    try:
        FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(f"cannot keep locks of sandbox uids in {FOLDER}: {error.strerror}") from error
    try:
        # A random start: a uid given back is not handed out again at once.
        start = secrets.randbelow(COUNT)
        for step in range(COUNT):
            uid = FIRST + (start + step) % COUNT
            descriptor = _lock(folder, uid)
            if descriptor is not None:
                return Lease(uid, descriptor)
    finally:
        os.close(folder)
    raise SandboxError(f"no free uid between {FIRST} and {FIRST + COUNT - 1}")


def _lock(folder: int, uid: int) -> int | None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        pass
    else:
        return None
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(str(uid), flags, 0o600, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
