"""Memory is limited together with what is moved out to a disk, and where that cannot be, it is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import cgroup, hierarchy
from grader.sandbox.base import MIB, Limit, Limits, Process
from grader.sandbox.bubblewrap import BubblewrapBackend
from grader.sandbox.docker import DockerBackend
from grader.sandbox.engine import Engine

LIMITS = Limits(memory_bytes=256 * MIB)


def test_the_kernel_was_told_so(start: Callable[..., Process]) -> None:
    process = start("import time; time.sleep(60)", limits=LIMITS)
    try:
        folder = Path(hierarchy.folders(process.host_pid)["memory"])
        names = ("memory.max", "memory.swap.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        told = {name: (folder / name).read_text().strip() for name in names if (folder / name).exists()}
    finally:
        process.close()
    second = {"memory.max": str(256 * MIB), "memory.swap.max": "0"}
    first = {"memory.limit_in_bytes": str(256 * MIB), "memory.memsw.limit_in_bytes": str(256 * MIB)}
    assert told in (first, second)


@pytest.mark.parametrize("account", ["memory.swap.max", "memory.memsw.limit_in_bytes", ""])
@pytest.mark.parametrize("swaps", [True, False])
def test_a_machine_that_does_not_account_for_it_does_not_hold_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, account: str, swaps: bool
) -> None:
    if account:
        (tmp_path / account).touch()
    group = cgroup.Group({"memory": str(tmp_path), "pids": str(tmp_path), "": str(tmp_path)}, None)
    monkeypatch.setattr(cgroup.Group, "discard", lambda _: None)
    monkeypatch.setattr(cgroup, "create", lambda *_, **__: group)
    monkeypatch.setattr(hierarchy, "swaps", lambda: swaps)
    monkeypatch.setattr(cgroup, "unenforced", cgroup.unenforced.__wrapped__)
    named = {Limit.MEMORY} if swaps and not account else set()
    assert BubblewrapBackend().unenforced() - cgroup.of_gpus() == named


@pytest.mark.parametrize(
    ("told", "swaps", "named"),
    [
        ({"MemoryLimit": True, "SwapLimit": True, "PidsLimit": True}, True, set()),
        ({"MemoryLimit": True, "SwapLimit": False, "PidsLimit": True}, False, set()),
        ({"MemoryLimit": True, "SwapLimit": False, "PidsLimit": True}, True, {Limit.MEMORY}),
        ({"MemoryLimit": False, "SwapLimit": True, "PidsLimit": True}, False, {Limit.MEMORY}),
        ({"MemoryLimit": True, "SwapLimit": True}, False, {Limit.PROCESSES}),
    ],
)
def test_a_daemon_that_cannot_is_believed(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, bool], swaps: bool, named: set[Limit]
) -> None:
    monkeypatch.setattr(Engine, "info", lambda _: told)
    monkeypatch.setattr(hierarchy, "swaps", lambda: swaps)
    assert DockerBackend().unenforced() - cgroup.of_gpus() == named
