"""Every assignment of the checkout holds what `solmark check` asks for, and every solution gets its verdict.

At the size of a CPU: correctness, and one round of the timed cases for what must be accepted.
"""

import random
import secrets
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader import assignment as assignments
from grader.assignment import Assignment
from grader.check import gradings, run, solutions
from grader.check.finding import Finding, State
from grader.check.gradings import Grader
from grader.check.solutions import Solution
from grader.sandbox import registry
from tests.revision import revision

CHECKOUT = Path(__file__).parents[2]
NAMES = sorted(
    name
    for name, root in assignments.available().items()
    if root.is_relative_to(CHECKOUT) and (root / "assignment.toml").is_file()
)
PRICED = {
    "kernels/auto-pipeline": 0.95,
    "kernels/layout-algebra": 0.95,
    "inference/kv-radix": 0.9,
    "rl/longtail-scheduler": 0.8,
}
"""Least share of the bound that the best solution must promise, and keep in hidden cases."""
UNMEASURED = {"rl/grpo-core": ("h200",)}
"""Hardware classes on which no right solution was timed in whole sessions: there is no milestone."""
HINTS = {
    "inference/kv-radix/wrong/cheat_shares_before_it_is_computed.py": "its tokens come in the future",
    "inference/kv-radix/wrong/finds_what_was_evicted.py": "is free: it was evicted",
    "inference/kv-radix/wrong/leaves_nothing_to_compute.py": "one must be left to compute",
    "rl/longtail-scheduler/wrong/cheat_short_prompts_again.py": "over an epoch every prompt counts once",
    "rl/longtail-scheduler/wrong/cheat_turns_the_clock_back.py": "must be at least 1",
    "rl/longtail-scheduler/wrong/counts_rollouts_from_one.py": "there is no rollout",
    "rl/longtail-scheduler/wrong/forgets_the_preempted.py": "cannot end",
    "kernels/add-rmsnorm/wrong/adds_into_x.py": "The input x was modified",
    "kernels/add-rmsnorm/wrong/eps_outside_the_root.py": "eps was added outside",
    "kernels/add-rmsnorm/wrong/forgets_res_out.py": "x + res is an output as well",
    "kernels/add-rmsnorm/wrong/mean_over_padded_columns.py": "taken over 8 padded columns",
    "kernels/add-rmsnorm/wrong/normalises_the_unrounded_sum.py": "before it was rounded",
    "kernels/add-rmsnorm/wrong/returns_the_result.py": "instead of writing",
    "kernels/add-rmsnorm/wrong/predict_in_milliseconds.py": "is not the bound",
    "kernels/layout-algebra/wrong/cheat_enumerates_the_indices.py": "work on modes, never on indices",
    "kernels/layout-algebra/wrong/returns_the_offsets.py": "a pair (shape, stride)",
    "kernels/layout-algebra/wrong/swizzle_tears_pieces_apart.py": "tears pieces of",
    "kernels/layout-algebra/wrong/swizzle_leaves_the_tile.py": "out of the tile",
}


@cache
def grader(name: str) -> Grader:
    """One for each assignment: it is read once."""
    return Grader(loaded(name), registry.choose("bubblewrap"), None)


@cache
def loaded(name: str) -> Assignment:
    return assignments.load(assignments.available()[name])


def found(name: str) -> list[Solution]:
    solutions_, faults = solutions.read(CHECKOUT / "reference" / name)
    assert faults == []
    return solutions_


WHOLE = {"kernels/add-rmsnorm", "kernels/auto-pipeline", "kernels/layout-algebra"}
"""Assignments all of whose solutions are graded here; of others the best ones, and some that the commit
draws. `make check` grades all of all."""
DRAWN = 4


def chosen() -> list[Any]:
    """What is graded here."""
    draw = random.Random(revision())
    params = []
    for name in NAMES:
        best = [one for one in found(name) if one.label.startswith("solution.")]
        rest = [one for one in found(name) if one not in best]
        drawn = rest if name in WHOLE else draw.sample(rest, min(DRAWN, len(rest)))
        params += [pytest.param(name, one, id=f"{name}/{one.label}") for one in (*best, *drawn)]
    return params


@pytest.mark.parametrize(("name", "solution"), chosen())
def test_a_solution_gets_the_verdict_that_it_names(name: str, solution: Solution) -> None:
    hint = HINTS.get(f"{name}/{solution.label}", "")
    for _ in range(3):  # One bug shows in several ways; in one drawing of thirty not in the named one.
        finding, report = gradings.of_solution(grader(name), solution)
        assert finding.state is not State.FAILS, finding.text
        said = " ".join(result.message.en for result in report.tests if result.message is not None)
        if hint in said:
            break
    assert hint in said


def test_hints_are_of_solutions_that_there_are() -> None:
    assert set(HINTS) <= {f"{name}/{one.label}" for name in NAMES for one in found(name)}


@pytest.mark.parametrize("name", NAMES)
def test_starters_run_and_pass_nothing(name: str) -> None:
    starters = {
        file: files
        for file, files in run.starters(loaded(name)).items()
        if run.offered(loaded(name), "cpu", files)
    }
    assert starters
    findings = [gradings.of_starter(grader(name), file, files) for file, files in starters.items()]
    assert [one.text for one in findings if one.state is State.FAILS] == []


@pytest.mark.parametrize("name", NAMES)
def test_all_that_needs_no_grading_holds(name: str) -> None:
    """Folder, pages, bound, cost, tolerances, answers, and what solutions there are."""
    findings = list(run.check(loaded(name).root, run.Options(registry.choose("bubblewrap"), grade=False)))
    assert of_state(findings, State.FAILS) == []
    unmeasured = [
        f"milestones on {hardware}: none: they come from measurements"
        for hardware in UNMEASURED.get(name, ())
    ]
    assert of_state(findings, State.WARNING) == unmeasured


@pytest.mark.parametrize("name", PRICED)
def test_prices_repeat_and_the_reference_comes_near_the_bound_of_hidden_cases(name: str) -> None:
    best = found(name)[0]
    assert best.reaches is not None
    assert best.reaches >= PRICED[name]
    seed = secrets.token_bytes(16)
    _, first = gradings.of_solution(grader(name), best, seed)
    findings = gradings.of_prices(grader(name), best, first, seed)
    assert of_state(findings, State.FAILS) == []
    assert len(findings) == 3


def of_state(findings: list[Finding], state: State) -> list[str]:
    return [f"{one.subject}: {one.text}" for one in findings if one.state is state]


@pytest.mark.parametrize("header", sorted((CHECKOUT / "assignments").glob("*/*/starter/solmark.h")))
def test_a_starters_header_is_that_of_the_harness(header: Path) -> None:
    assert header.read_bytes() == (CHECKOUT / "grader/candidate/solmark.h").read_bytes()
