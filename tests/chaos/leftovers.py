"""What a chaos run has running, and what it has left: processes, sandboxes, cgroups."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.node.orphans import MARK as JUDGE_MARK
from grader.sandbox import hierarchy
from tests.chaos.stage import MARK


def processes(folder: Path) -> list[int]:
    """All processes of the run that still carry its mark: everything but what is in a sandbox, and us."""
    return [pid for pid in _carrying(f"{MARK}={folder}/".encode()) if pid != os.getpid()]


def judges(folder: Path) -> list[int]:
    """Judges of the run, and what they started outside of sandboxes."""
    return list(_carrying(f"{JUDGE_MARK}={folder}/".encode()))


def members(pid: int, start: str) -> list[int]:
    """Processes in the cgroups of sandboxes that the judge with that number and start made."""
    found: set[int] = set()
    for group in groups([(pid, start)]):
        try:
            found |= {int(line) for line in (group / "cgroup.procs").read_text().split()}
        except OSError:
            continue
    return sorted(found)


def groups(makers: Iterable[tuple[int, str]]) -> list[Path]:
    """Cgroups that these judges (number and start of each) have made."""
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    prefixes = tuple(f"solmark-{namespace}-{pid}-{start}-" for pid, start in makers)
    found = []
    for mount in {tree.mount for tree in hierarchy.find()}:
        for parent, folders, _ in os.walk(mount):
            found += [Path(parent, name) for name in folders if name.startswith(prefixes)]
    return found if prefixes else []


def _carrying(text: bytes) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if text in environment:
            yield int(process.name)
