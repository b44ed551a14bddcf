"""Dividing the CPUs, on made-up topologies and on this machine."""

import os
from pathlib import Path

import pytest
import torch

from grader.judge import cores


def topology(root: Path, *siblings: str) -> Path:
    for cpu, text in enumerate(siblings):
        folder = root / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text + "\n")
    return root


def test_the_judges_hyperthread_sibling_stays_idle(tmp_path: Path) -> None:
    root = topology(tmp_path, "0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7")
    assert cores.choose(frozenset(range(8)), root) == cores.Cores(0, frozenset({1, 2, 3, 5, 6, 7}))
    assert cores.choose(frozenset({1, 2, 5}), root) == cores.Cores(1, frozenset({2}))


def test_adjacent_siblings(tmp_path: Path) -> None:
    root = topology(tmp_path, "0-1", "0-1", "2-3", "2-3")
    assert cores.choose(frozenset(range(4)), root) == cores.Cores(0, frozenset({2, 3}))


@pytest.mark.parametrize("cpus", [{0}, {0, 1}])
def test_one_core_is_shared_and_says_so(tmp_path: Path, cpus: set[int]) -> None:
    found = cores.choose(frozenset(cpus), topology(tmp_path, "0-1", "0-1"))
    assert found.shared
    assert found.candidate == cpus


def test_without_topology_every_cpu_is_a_core(tmp_path: Path) -> None:
    assert cores.choose(frozenset({2, 3}), tmp_path) == cores.Cores(2, frozenset({3}))


def test_no_cpu_at_all() -> None:
    with pytest.raises(ValueError, match="no CPU"):
        cores.choose(frozenset())


@pytest.mark.parametrize(("text", "cpus"), [("0", {0}), ("0-3,8\n", {0, 1, 2, 3, 8}), ("2,2-2", {2})])
def test_kernel_lists(text: str, cpus: set[int]) -> None:
    assert cores.parse(text) == cpus


def test_pinning_is_undone() -> None:
    before, threads = os.sched_getaffinity(0), torch.get_num_threads()
    cpu = cores.choose().judge

    def raise_inside() -> None:
        with cores.pinned(cpu):
            assert os.sched_getaffinity(0) == {cpu}
            assert torch.get_num_threads() == 1
            raise KeyError

    with pytest.raises(KeyError):
        raise_inside()
    assert os.sched_getaffinity(0) == before
    assert torch.get_num_threads() == threads
