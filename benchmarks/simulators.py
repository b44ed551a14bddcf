"""Values and bounds of every priced case, hidden ones too, for every solution that must be accepted.

Prices are integers of a model, the same on every machine; what a case draws follows from the session's seed.

    python -m benchmarks.simulators
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader.assignment import Assignment
from grader.check import priced, solutions
from grader.check.gradings import Grader
from grader.contract import Mode, Report, Verdict
from grader.sandbox import registry
from grader.task import carries_price

OUTPUT = results_schema.RESULTS / "simulators.json"
SEED = bytes(range(16))


def main() -> int:
    """Grade, write the results, say what was found; 1 and nothing written if a solution was not accepted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    judge = ""
    for root in sorted(assignments.available().values()):
        assignment = assignments.load(root)
        exposed = priced.exposed(assignment, "cpu", SEED) if is_priced(assignment) else None
        for label, report in graded(assignment, exposed or assignment):
            if report.verdict is not Verdict.ACCEPTED:
                refused.append(f"{assignment.id}/{label}: {report.verdict.value}: {report.message.en}")
            judge = report.environment.judge_version
            cases = list(prices(assignment, label, report))
            public = [case for case in cases if case["visibility"] == "public"]
            rows += [*cases, together(assignment, label, public)] if public else []
            print(assignment.id, label, report.verdict.value, flush=True)
    if refused:  # What it reached before is no price of the whole.
        print("\n".join(refused), file=sys.stderr)
        return 1
    header = results_schema.header("python -m benchmarks.simulators", "any", judge_version=judge)
    results_schema.write(OUTPUT, results_schema.ResultsFile.model_validate({**header, "rows": rows}))
    for row in rows:
        print(f"{row['id']}: {row['value']:g} {row['unit']}, {row['fraction']:.1%} of the bound")
    return 0


def is_priced(assignment: Assignment) -> bool:
    """Whether the assignment has priced cases on a CPU."""
    parts = assignment.parts()
    on_cpu = assignment.spec.target("cpu") is not None
    cases = assignment.cases("cpu", SEED) if on_cpu else []
    return any(case.role == "timed" and carries_price(parts[case.part]) for case in cases)


def graded(assignment: Assignment, cases: Assignment) -> Iterator[tuple[str, Report]]:
    """A session on `cases` for each solution of the assignment that must be accepted, if it is priced."""
    if not is_priced(assignment):
        return
    grader = Grader(cases, registry.choose(None), None)
    found, _ = solutions.read(solutions.folder(assignment))
    for solution in found:
        if solution.verdict is Verdict.ACCEPTED:
            report = grader.grade(solution.files, Mode.GRADE, language=solution.language, seed=SEED)
            yield solution.label, report


def prices(assignment: Assignment, label: str, report: Report) -> Iterator[dict[str, Any]]:
    """One row for each priced case."""
    slug = assignment.id.partition("/")[2]
    public = {case.id for case in assignment.spec.cases}
    for timed in report.timed:
        measure = timed.measure
        if measure is None or measure.unit == "s" or measure.bound is None:
            continue
        ratio = ("bound", "value") if measure.better == "lower" else ("value", "bound")
        yield {
            "id": f"{slug}/{label.rpartition('.')[0]}/{timed.case}",
            "assignment": assignment.id,
            "case": timed.case,
            "visibility": "public" if timed.case in public else "hidden",
            "solution": label,
            "quantity": measure.quantity,
            "unit": measure.unit,
            "value": measure.value,
            "bound": measure.bound,
            "bound_by": measure.bound_by or "",
            "fraction": timed.fraction,
            "ratios": {"fraction": ratio},
        }


def together(assignment: Assignment, label: str, cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The row of a whole solution, which milestones name: the geometric mean over its cases."""
    slug = assignment.id.partition("/")[2]
    better = {case["ratios"]["fraction"] for case in cases}
    if len(better) != 1:
        raise ValueError(f"{assignment.id}: cases that are better lower and higher have no common row")
    return {
        "id": f"{slug}/{label.rpartition('.')[0]}",
        "assignment": assignment.id,
        "case": "all",
        "visibility": "public",
        "solution": label,
        "quantity": "geometric mean",
        "unit": "1",
        "value": geometric_mean([case["value"] for case in cases]),
        "bound": geometric_mean([case["bound"] for case in cases]),
        "bound_by": "",
        "fraction": geometric_mean([case["fraction"] for case in cases]),
        "ratios": {"fraction": better.pop()},
    }


if __name__ == "__main__":
    sys.exit(main())
