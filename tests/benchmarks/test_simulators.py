"""The committed prices: a row for every right solution in every priced case, and the same price again."""

import dataclasses
import random
from functools import cache
from typing import Any

import pytest

from benchmarks import results_schema, simulators
from grader import assignment as assignments
from grader.assignment import Assignment
from grader.check import priced, solutions
from grader.check.gradings import Grader
from grader.check.solutions import Solution
from grader.contract import Mode, Verdict
from grader.sandbox import registry
from tests.revision import ROOT, revision

DRAWN = 3
"""Rows that are priced again, drawn by the commit."""
ROWS = {row.id or "": row.fields for row in results_schema.read(simulators.OUTPUT).rows}


@cache
def exposed() -> dict[str, Assignment]:
    """Every assignment of the checkout with prices on a CPU, its hidden cases shown where they carry any."""
    found = {}
    for name, root in assignments.available().items():
        if root.is_relative_to(ROOT) and simulators.is_priced(one := assignments.load(root)):
            found[name] = priced.exposed(one, "cpu", simulators.SEED) or one
    return found


def right(assignment: Assignment) -> list[Solution]:
    found, _ = solutions.read(solutions.folder(assignment))
    return [one for one in found if one.verdict is Verdict.ACCEPTED]


def test_every_right_solution_has_a_row_for_every_priced_case() -> None:
    wanted: dict[str, str] = {}
    for name, one in exposed().items():
        cases = [case for case in one.cases("cpu", simulators.SEED) if case.role == "timed"]
        for solution in right(one):
            whole = f"{name.partition('/')[2]}/{solution.label.rpartition('.')[0]}"
            wanted |= {whole: "all"} | {f"{whole}/{case.id}": case.id for case in cases}
    assert {row: fields["case"] for row, fields in ROWS.items()} == wanted


def drawn() -> list[str]:
    cases = sorted(row for row, fields in ROWS.items() if fields["case"] != "all")
    return random.Random(revision()).sample(cases, DRAWN)


@pytest.mark.parametrize("row", drawn())
def test_a_price_comes_out_again(row: str) -> None:
    fields: dict[str, Any] = dict(ROWS[row])
    whole = exposed()[fields["assignment"]]
    case = next(case for case in whole.spec.cases if case.id == fields["case"])
    alone = dataclasses.replace(whole, spec=whole.spec.model_copy(update={"cases": (case,)}), hidden=())
    solution = next(one for one in right(whole) if one.label == fields["solution"])
    report = Grader(alone, registry.choose("bubblewrap"), None).grade(
        solution.files, Mode.GRADE, language=solution.language, seed=simulators.SEED
    )
    assert report.verdict is Verdict.ACCEPTED, report.message.en
    (timed,) = report.timed
    assert timed.measure is not None
    assert (timed.measure.value, timed.measure.bound) == (fields["value"], fields["bound"])
    assert timed.fraction == pytest.approx(fields["fraction"])
