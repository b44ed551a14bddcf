"""What sandboxes have left on the host that carries no name of a judge: processes and containers' cgroups.

Other judges may be at work on the same machine. What a living judge holds is not left, and what is about to go is
given a moment.
"""

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from grader.sandbox import engine, uids

GOING_SECONDS = 2.0
_CONTAINER = re.compile("(?:docker-)?([0-9a-f]{64})(?:[.]scope)?")


def processes() -> set[str]:
    """Processes of users who are nobody's: the kernel's own account of a session that did not end."""
    return _lasting(_orphans)


def of_containers() -> set[str]:
    """Cgroups that a daemon has made for containers which it no longer has."""
    return _lasting(_cgroups)


def _lasting(look: Callable[[], set[str]]) -> set[str]:
    """What is still there when everybody who was about to remove it has had the time."""
    found, deadline = look(), time.monotonic() + GOING_SECONDS
    while found and time.monotonic() < deadline:
        time.sleep(0.05)
        found &= look()
    return found


def _orphans() -> set[str]:
    users, parents, names = {}, {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended
            continue
        if "Z" in fields["State"]:  # It holds nothing; who adopted it has not looked yet.
            continue
        pid = int(status.parent.name)
        users[pid], parents[pid] = int(fields["Uid"].split()[0]), int(fields["PPid"])
        names[pid] = fields["Name"].strip()
    adopters = set(_line(os.getpid(), parents)) | {0, 1}
    sandboxed = range(uids.FIRST, uids.FIRST + uids.COUNT)
    found = set()
    for pid, user in users.items():
        if user in sandboxed and not _lent(user):
            # A sandbox in a container has a judge there, whose locks are not to be seen from here.
            keeper = next((one for one in _line(pid, parents) if users.get(one) not in sandboxed), 0)
            if keeper in adopters:
                found.add(f"process {pid} ({names[pid]}) of user {user}")
    return found


def _line(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    """A process, its parent, and so on."""
    while pid in parents:
        yield pid
        pid = parents[pid]


def _lent(uid: int) -> bool:
    """Whether a living judge holds this user for a sandbox."""
    try:
        descriptor = os.open(uids.FOLDER / str(uid), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _cgroups() -> set[str]:
    known = {found["Id"] for found in engine.connect()._client.containers(all=True)}
    return {
        f"{folder}/{name}"
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if (match := _CONTAINER.fullmatch(name)) and match[1] not in known
    }
