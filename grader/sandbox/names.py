"""Names of what a session leaves in the kernel or with a daemon: they tell whether its maker still lives.

The pid namespace, pid and start time of the process that made it, and a number.
"""

import itertools
import os
import re
from pathlib import Path

NAME = re.compile(r"solmark-\d+-\d+-\d+-\d+")
_serial = itertools.count(1)


def new() -> str:
    """A name that nothing else on this machine has or will have."""
    return f"solmark-{_namespace()}-{os.getpid()}-{_start_time(os.getpid())}-{next(_serial)}"


def is_stale(name: str) -> bool:
    """Whether this is a name from `new`, made in our pid namespace by a process that is dead."""
    if not NAME.fullmatch(name):
        return False
    _, namespace, pid, start, _ = name.split("-")
    return namespace == str(_namespace()) and start != _start_time(int(pid))


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _start_time(pid: int) -> str | None:
    """Start of a process in clock ticks since boot; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]
