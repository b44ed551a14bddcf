"""The committed check of assignments on a device: nothing fails, and what has not run there is named here."""

import json
from pathlib import Path
from typing import Any

import pytest

from grader import assignment as assignments
from grader.check import run, solutions

ROOT = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = json.loads((ROOT / "benchmarks/results/check.h200.json").read_text("utf-8"))[
    "rows"
]
NOT_CHECKED = {"kernels/add-rmsnorm"}
NOT_GRADED = {
    "rl/grpo-core": {
        "wrong/micro_batch_takes_its_own_mean.py",
        "wrong/multiplies_by_the_mask.py",
        "wrong/old_policy_is_the_new_one.py",
        "wrong/opd_turned_round.py",
        "wrong/rounds_the_logits.py",
        "wrong/widens_the_policy.py",
    }
}
"""What the minutes on a device did not suffice for: `benchmarks.gpu.check --resume` takes it up."""


def meant() -> list[str]:
    found = assignments.available().items()
    return sorted(name for name, root in found if assignments.load(root).spec.target("h200") is not None)


def test_nothing_fails() -> None:
    assert [row for row in ROWS if row["state"] == "fails"] == []


@pytest.mark.parametrize("name", sorted({*meant()} - NOT_CHECKED))
def test_every_solution_was_graded_or_is_named(name: str) -> None:
    assignment = assignments.load(assignments.find(name))
    found, _ = solutions.read(solutions.folder(assignment), "h200")
    offered = {one.label for one in found if run.offered(assignment, "h200", one.files, one.language)}
    graded = {row["subject"] for row in ROWS if row["assignment"] == name}
    assert offered - graded == NOT_GRADED.get(name, set())


def test_what_was_not_checked_is_meant_for_it() -> None:
    assert set(meant()) - {row["assignment"] for row in ROWS} == NOT_CHECKED
