"""SECURITY.md says of every limit on every backend what holds it, and admits what does not."""

import dataclasses
import re
from pathlib import Path

import pytest

from grader.sandbox import cgroup
from grader.sandbox.base import Limit, Limits
from grader.sandbox.plain import PlainBackend

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "SECURITY.md"
ROWS = {
    "wall time": Limit.WALL,
    "CPU time": Limit.CPU,
    "memory, with swap, tmpfs, shared memory": Limit.MEMORY,
    "processes and threads": Limit.PROCESSES,
    "output": Limit.OUTPUT,
    "disk (`/tmp`)": Limit.DISK,
    "shared memory (`/dev/shm`)": Limit.SHM,
    "files and folders": Limit.INODES,
    "memory of a GPU": Limit.GPU_MEMORY,
    "open files": Limit.OPEN_FILES,
    "network": Limit.NETWORK,
}
NOTHING = "–"


@pytest.fixture(scope="module")
def unheld() -> dict[str, set[Limit]]:
    """Backend -> the limits that the page says nothing holds."""
    _, _, table = PAGE.read_text("utf-8").partition("| limit |")
    lines = ["| limit |" + table.splitlines()[0], *table.splitlines()[2:]]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    found = {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[1:]}
    assert found.keys() >= ROWS.keys()
    assert set(ROWS.values()) == set(Limit)
    return {
        backend: {limit for name, limit in ROWS.items() if found[name][backend] == NOTHING}
        for backend in rows[0][1:-1]
    }


def test_backends_admit_what_the_page_admits(unheld: dict[str, set[Limit]]) -> None:
    assert unheld == {
        "bubblewrap, as root": {Limit.GPU_MEMORY},
        "bubblewrap, as another user": {Limit.GPU_MEMORY, Limit.INODES},
        "Docker": {Limit.GPU_MEMORY},
        "plain": PlainBackend().unenforced() - cgroup.unenforced() | {Limit.GPU_MEMORY},
    }


def test_every_number_of_a_limit_is_read_by_what_holds_it() -> None:
    folders = (ROOT / "grader" / "sandbox", ROOT / "grader" / "judge")
    source = "".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    unread = [
        field.name
        for field in dataclasses.fields(Limits)
        if not re.search(rf"limits\.{field.name}\b", source)
    ]
    assert unread == []
