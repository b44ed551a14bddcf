"""Scratch folders of a sandbox with a limit on inodes, which bubblewrap's own tmpfs does not have.

A command makes /tmp and /dev/shm in a mount namespace of its own, which nothing else sees and which goes
with it, and then becomes the next command. Only root may.
"""

from pathlib import Path

from grader.sandbox import mounts
from grader.sandbox.base import Limits, SandboxError
from grader.sandbox.programs import util_linux

_ROOT = Path("/run/solmark/scratch")
FOLDERS = {mounts.TMP: str(_ROOT / "tmp"), mounts.SHM: str(_ROOT / "shm")}
"""Path inside -> mount point on the host. Empty there: the file systems exist only in the namespaces."""
_SCRIPT = """
mount=$1; shift
"$mount" -t tmpfs -o "$1,mode=1777,nosuid,nodev" tmpfs "$2" || exit; shift 2
"$mount" -t tmpfs -o "$1,mode=1777,nosuid,nodev" tmpfs "$2" || exit; shift 2
exec "$@"
"""


def command(limits: Limits) -> list[str]:
    """The command, to be followed by the next one and its arguments."""
    words = [util_linux("unshare"), "--mount", "--", "/bin/sh", "-c", _SCRIPT, "sh", util_linux("mount")]
    for (inside, folder), size in zip(FOLDERS.items(), (limits.disk_bytes, limits.shm_bytes), strict=True):
        try:
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxError(f"cannot make a mount point for {inside}: {error}") from error
        # A size of 0 would be no limit; the root folder is an inode too.
        words += [f"size={max(size, 1)},nr_inodes={limits.inodes + 1}", folder]
    return words
