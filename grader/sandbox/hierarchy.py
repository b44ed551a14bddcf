"""Where on this machine session cgroups can be made: cgroup v2, the hybrid layout, or v1 controllers."""

import contextlib
import functools
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.sandbox import names

WANTED = ("memory", "pids", "cpuset", "cpu")
"""Controllers that a session uses if it can have them."""


@dataclass(frozen=True)
class Hierarchy:
    """One cgroup tree, and the folder in it under which this process may make groups."""

    version: Literal[1, 2]
    base: str
    controllers: frozenset[str]
    """Controllers that a group made under `base` has."""
    mount: str
    """Mount point: stale groups are looked for below it."""


@functools.cache
def find() -> tuple[Hierarchy, ...]:
    """The trees in which this process can make groups, v2 first; none on a machine that lets it make none."""
    own = _paths("self")
    found: list[Hierarchy] = []
    for kind, mount, root, options in sorted(_mounts(), reverse=True):
        if kind == "cgroup2":
            hierarchy = _second(mount, _below(mount, root, own.get("", "/")))
        else:
            hierarchy = _first(mount, root, options, own)
        taken = {name for other in found for name in other.controllers}
        if hierarchy is not None and not (hierarchy.version == 1 and hierarchy.controllers <= taken):
            found.append(hierarchy)
    return tuple(found)


def _mounts() -> Iterator[tuple[str, str, str, str]]:
    """(file system, mount point, its root in the tree, super options) of each cgroup mount we see."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            root, mount = before.split(" ")[3:5]
            yield kind, _unescape(mount), _unescape(root), options


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def folders(pid: int) -> dict[str, str]:
    """Controller (the empty string for v2) -> folder of a process's group, as far as it can be seen here.

    On v2 also for each controller that the group has, the same folder. OSError if the process is gone.
    """
    paths = _paths(str(pid))
    found: dict[str, str] = {}
    for kind, mount, root, options in _mounts():
        held = {""} if kind == "cgroup2" else set(options.split(",")) & paths.keys()
        for name in held & paths.keys():
            folder = _below(mount, root, paths[name])
            found[name] = folder
            controllers = Path(folder, "cgroup.controllers")
            if kind == "cgroup2" and controllers.exists():
                found |= dict.fromkeys(controllers.read_text().split(), folder)
    return found


def swaps() -> bool:
    """Whether this machine can move memory out to a disk."""
    return len(Path("/proc/swaps").read_text().splitlines()) > 1


def _paths(process: str) -> dict[str, str]:
    """Controller -> path of a process's group; the key of v2 is the empty string."""
    paths: dict[str, str] = {}
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _below(mount: str, root: str, path: str) -> str:
    """Folder of the group `path` under a mount whose root is the group `root`."""
    relative = os.path.relpath(path, root)
    return mount if relative.startswith("..") else os.path.normpath(f"{mount}/{relative}")


def _second(mount: str, own: str) -> Hierarchy | None:
    """The v2 tree: the best of its root, our group's parent and our group.

    A group that has processes of its own cannot hand controllers down (the tree's true root can), so a
    service that is started in a leaf of a delegated tree finds what it needs in its parent.
    """
    best: Hierarchy | None = None
    for base in dict.fromkeys((mount, os.path.dirname(own), own)):  # noqa: PTH120
        if not base.startswith(mount) or not _usable(base):
            continue
        if base == own == mount:
            _vacate(base)
        enabled = frozenset(_enable(base))
        if best is None or len(enabled & {"memory", "pids"}) > len(best.controllers & {"memory", "pids"}):
            best = Hierarchy(2, base, enabled, mount)
        if {"memory", "pids"} <= enabled:
            break
    return best


def _usable(base: str) -> bool:
    """Whether we can make a group here and move a process of ours into it, found by doing so.

    Permission to make a group is not enough: moving needs it on the common ancestor too.
    """
    folder = Path(base, names.new())  # Should we be killed meanwhile, `cgroup.reap` removes it.
    try:
        folder.mkdir()
    except OSError:
        return False
    try:
        inherit_cpuset(folder)
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as waiting:
            (folder / "cgroup.procs").write_text(str(waiting.pid))
    except OSError:
        return False
    else:
        return True
    finally:
        _remove(folder)


def inherit_cpuset(folder: Path) -> None:
    """Give a v1 cpuset what its parent has: it starts empty and takes no process until both are set."""
    if Path(folder, "cpuset.mems").exists() and not Path(folder, "cgroup.type").exists():
        for name in ("cpuset.mems", "cpuset.cpus"):
            Path(folder, name).write_text(Path(folder.parent, name).read_text())


def _remove(folder: Path) -> None:
    """Remove a group whose processes have been waited for; the kernel may lag a moment behind."""
    for _ in range(1000):
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.001)
        else:
            return


def _vacate(base: str) -> None:
    """Move all processes of a container's own top group into a leaf, so that it can hand controllers down.

    Only in a cgroup namespace, whose top is all that the container has; the true root needs no such thing,
    and has no cgroup.type.
    """
    wanted = set(WANTED) & set(Path(base, "cgroup.controllers").read_text().split())
    if not Path(base, "cgroup.type").exists() or wanted <= set(_handed_down(base)):
        return
    leaf = Path(base, "solmark-container")
    leaf.mkdir(exist_ok=True)
    for pid in Path(base, "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):  # ended, or a kernel thread
            (leaf / "cgroup.procs").write_text(pid)


def _handed_down(base: str) -> list[str]:
    return Path(base, "cgroup.subtree_control").read_text().split()


def _enable(base: str) -> list[str]:
    """Hand the wanted controllers down to the children of `base`, and return those that they have."""
    control = Path(base, "cgroup.subtree_control")
    available = Path(base, "cgroup.controllers").read_text().split()
    for controller in WANTED:
        if controller in available and controller not in _handed_down(base):
            with contextlib.suppress(OSError):  # busy or not delegated: `doctor` says what to do
                control.write_text(f"+{controller}")
    return [name for name in _handed_down(base) if name in WANTED]


def _first(mount: str, root: str, options: str, own: dict[str, str]) -> Hierarchy | None:
    """A v1 tree of controllers we use, under our own group: what limits us limits our sandboxes too."""
    used = {"memory", "pids", "cpuset", "freezer", "cpuacct"} & set(options.split(","))
    if not used:
        return None
    base = _below(mount, root, own.get(min(used), "/"))
    return Hierarchy(1, base, frozenset(used), mount) if _usable(base) else None
