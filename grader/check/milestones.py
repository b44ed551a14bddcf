"""Milestones are whole solutions of ours, measured in every timed case that there is now.

Each names a row of this assignment and hardware class, of a solution that must be accepted.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from grader.assignment import Assignment
from grader.check import solutions
from grader.check.finding import Finding, fails, holds, warning
from grader.contract import Verdict
from grader.spec import MilestoneSpec, TargetSpec

_RESULTS = Path("benchmarks") / "results"
_ANY = "any"
"""The device of prices, which are the same on every machine."""


def check(assignment: Assignment) -> Iterator[Finding]:
    """One finding for each target; that the rows exist and say these fractions, `load` has seen."""
    results = next((p / _RESULTS for p in assignment.root.parents if (p / _RESULTS).is_dir()), None)
    for target in assignment.spec.targets:
        subject = f"milestones on {target.hardware}"
        if not target.milestones:
            yield warning(subject, "none: they come from measurements")
        elif results is not None:
            wrong = [text for one in target.milestones for text in _faults(assignment, target, one, results)]
            yield from (fails(subject, text) for text in wrong)
            if not wrong:
                yield holds(subject, f"{len(target.milestones)} solutions, each measured in every timed case")


def _faults(
    assignment: Assignment, target: TargetSpec, milestone: MilestoneSpec, results: Path
) -> Iterator[str]:
    name, _, row = milestone.measurement.partition(":")
    document = json.loads((results / f"{name}.json").read_text("utf-8"))
    rows: Mapping[str, Mapping[str, Any]] = {one["id"]: one for one in document["rows"] if "id" in one}
    found, place = rows[row], f"{milestone.name}: {milestone.measurement}"
    if document.get("device") != _ANY and not name.endswith(f".{target.hardware}"):
        yield f"{place} was not measured on {target.hardware}"
    if found.get("assignment") != assignment.id:
        yield f"{place} is of {found.get('assignment')}"
        return
    if found.get("solution") not in (labels := _right(assignment, target.hardware)):
        yield f"{place} is of {found.get('solution')}; the right solutions are {', '.join(sorted(labels))}"
    if found.get("case") != "all":
        yield f"{place} is of the case {found.get('case')}, not of all"
        return
    cases = {case: rows.get(f"{row}/{case}") for case in _timed(assignment, target.hardware)}
    missing = [case for case, one in cases.items() if one is None]
    yield from (f"{place} leaves out {case}, which is timed" for case in missing)
    shares = [float(one["fraction"]) for one in cases.values() if one is not None]
    if not missing and not math.isclose(mean := geometric_mean(shares), found["fraction"], rel_tol=1e-6):
        yield f"{place} says {found['fraction']:.4g}, but its cases make {mean:.4g}"


def _right(assignment: Assignment, hardware: str) -> Collection[str]:
    found, _ = solutions.read(solutions.folder(assignment), hardware)
    return {one.label for one in found if one.verdict is Verdict.ACCEPTED}


def _timed(assignment: Assignment, hardware: str) -> list[str]:
    return [case.id for case in assignment.cases(hardware, bytes(16)) if case.role == "timed"]
