"""Measured milestones: whole sessions of an assignment's right solutions on a calibrated machine.

A milestone of `assignment.toml` names the row of a solution: the geometric mean over the timed cases. With
`--gradings` nothing runs: the sessions are those of a file that `benchmarks.gpu.gradings` wrote.

    python -m benchmarks.milestones kernels/add-rmsnorm --hardware cpu
    python -m benchmarks.milestones kernels/add-rmsnorm --hardware h200 --gradings gradings.h200.json

What a machine measured into another file is joined with what is here by `--merge`.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader.assignment import Assignment
from grader.check import solutions
from grader.check.gradings import Grader
from grader.check.solutions import Solution
from grader.contract import Mode, Report, Verdict
from grader.hardware import profile
from grader.sandbox import registry

TRIES = 3
"""Sessions that may end as unstable timing before a solution is given up."""


def main() -> int:
    """Grade, write the results; 0 if every solution was accepted in every session."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("assignment")
    parser.add_argument("--hardware", default="cpu")
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument(
        "--only", nargs="*", help="files of reference/, such as naive.py; by default all right ones"
    )
    parser.add_argument("--gradings", help="a file of benchmarks/results")
    parser.add_argument("--merge", type=Path, help="a file that `--output` named: nothing runs")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if arguments.merge:
        joined(arguments)
        return 0
    assignment = assignments.load(assignments.find(arguments.assignment))
    if arguments.gradings:
        return derived(assignment, arguments)
    hardware = profile.load(arguments.hardware)
    if hardware.calibrated is None:
        parser.error(f"this machine is not calibrated: solmark calibrate --hardware {arguments.hardware}")
    grader = Grader(assignment, registry.choose(None), hardware, arguments.hardware)
    found, _ = solutions.read(solutions.folder(assignment), arguments.hardware)
    rows: list[dict[str, Any]] = []
    report: Report | None = None
    good = True
    for solution in found:
        if solution.verdict is not Verdict.ACCEPTED or not is_entry(assignment, solution):
            continue
        if arguments.only and solution.label not in arguments.only:
            continue
        reports = [graded(grader, solution) for _ in range(arguments.sessions)]
        report = reports[-1]
        verdicts = ", ".join(one.verdict.value for one in reports)
        print(f"{solution.label}: {verdicts}, {report.seconds:.1f} s", flush=True)
        good = good and all(one.verdict is Verdict.ACCEPTED for one in reports)
        cases = list(measured(assignment, solution, reports))
        rows += [*cases, together(assignment, solution, cases)] if cases else []
    if report is None or not rows:
        parser.error("no solution was timed")
    header = results_schema.header(
        command(arguments),
        report.environment.hardware_name,
        report.environment.driver,
        report.environment.judge_version,
    )
    write(arguments, header, rows)
    return 0 if good else 1


def derived(assignment: Assignment, arguments: argparse.Namespace) -> int:
    """The rows of solutions, by case and whole, from gradings measured before, under their own header."""
    source = results_schema.read(results_schema.RESULTS / arguments.gradings)
    timed = [case.id for case in assignment.cases(arguments.hardware, bytes(16)) if case.role == "timed"]
    rows: list[dict[str, Any]] = []
    found, _ = solutions.read(solutions.folder(assignment), arguments.hardware)
    measured_rows = {row.id: row.fields for row in source.rows}
    for solution in found:
        ids = [f"{solution.label}/{case}" for case in timed]
        if solution.verdict is Verdict.ACCEPTED and all(name in measured_rows for name in ids):
            cases = [measured_rows[name] for name in ids]
            rows += [
                row(assignment, solution, case, fields) for case, fields in zip(timed, cases, strict=True)
            ]
            rows.append(together(assignment, solution, cases))
    header = source.model_dump(by_alias=True, exclude={"rows"}) | {"command": command(arguments)}
    write(arguments, header, rows)
    return 0


def joined(arguments: argparse.Namespace) -> None:
    """The rows of another file, of this assignment and of the solutions asked for, into the results here."""
    other = results_schema.read(arguments.merge).model_dump(mode="json", by_alias=True)
    header = {name: value for name, value in other.items() if name != "rows"}
    rows = [row for row in other["rows"] if row["assignment"] == arguments.assignment]
    write(arguments, header, [row for row in rows if not arguments.only or row["solution"] in arguments.only])


def write(
    arguments: argparse.Namespace, header: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> None:
    """The file, and what it says. Rows of what was not measured now stay, each with its machine and day."""
    output = arguments.output or results_schema.RESULTS / f"milestones.{arguments.hardware}.json"
    measured_now = {(row["assignment"], row["solution"]) for row in rows}
    others: list[Mapping[str, Any]] = []
    if output.exists():
        known = results_schema.read(output).model_dump(mode="json", by_alias=True)
        others = [
            stamped(known, row)
            for row in known["rows"]
            if (row["assignment"], row["solution"]) not in measured_now
        ]
    document = {**header, "rows": [*(stamped(header, row) for row in rows), *others]}
    results_schema.write(output, results_schema.ResultsFile.model_validate(document))
    for row in rows:
        print(f"{row['id']}: {row['seconds']:.4g} s, {row['fraction']:.1%} of the bound")


def stamped(header: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row that says itself on which machine, with which judge and when it was measured."""
    about = {"device": header["device"], "judge": header["judge_version"], "measured": header["date"]}
    return {**about, **row}


def command(arguments: argparse.Namespace) -> str:
    """How to repeat it."""
    parts = ["python -m benchmarks.milestones", arguments.assignment, "--hardware", arguments.hardware]
    if arguments.sessions != 1:
        parts += ["--sessions", str(arguments.sessions)]
    if arguments.gradings:
        parts += ["--gradings", arguments.gradings]
    return " ".join([*parts, *(["--only", *arguments.only] if arguments.only else [])])


def is_entry(assignment: Assignment, solution: Solution) -> bool:
    """Whether it is a solution of its own: not a part's own file, beside which another is handed in."""
    return next(iter(solution.files)) not in {part.file for part in assignment.spec.parts}


def graded(grader: Grader, solution: Solution) -> Report:
    """One session; one that says itself that the machine was busy is repeated."""
    for _ in range(TRIES):
        report = grader.grade(solution.files, Mode.GRADE, language=solution.language, once=False)
        if report.verdict is Verdict.ACCEPTED:
            return report
        print(f"{solution.label}: {report.verdict.value}: {report.message.en}", flush=True)
        if report.staff is not None:
            print(f"    {report.staff.replay}", flush=True)
        if report.verdict is not Verdict.UNSTABLE_TIMING:
            break
    return report


def measured(
    assignment: Assignment, solution: Solution, reports: Sequence[Report]
) -> Iterator[dict[str, Any]]:
    """One row for each timed case: the time of a call in each session, against the bound."""
    for case in [timed.case for timed in reports[0].timed]:
        measures = [
            timed.measure
            for report in reports
            for timed in report.timed
            if timed.case == case and timed.measure is not None and timed.measure.bound is not None
        ]
        if len(measures) < len(reports):
            continue  # Not timed here: Triton on a CPU.
        seconds = [measure.value for measure in measures]
        yield {
            "id": f"{assignment.id.partition('/')[2]}/{solution.label}/{case}",
            "assignment": assignment.id,
            "solution": solution.label,
            "case": case,
            "samples": {"seconds": seconds},
            "seconds": median(seconds),
            "low_seconds": min(measure.low for measure in measures),
            "high_seconds": max(measure.high for measure in measures),
            "bound_seconds": measures[0].bound,
            "bound_by": measures[0].bound_by or "",
            "fraction": (measures[0].bound or 0.0) / median(seconds),
            "ratios": {"fraction": ["bound_seconds", "seconds"]},
        }


def together(
    assignment: Assignment, solution: Solution, cases: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The row of a whole solution: geometric means over its cases."""
    seconds = geometric_mean([case["seconds"] for case in cases])
    bound = geometric_mean([case["bound_seconds"] for case in cases])
    return row(assignment, solution, "all", {"seconds": seconds, "bound_seconds": bound})


def row(assignment: Assignment, solution: Solution, case: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a case, or of `all`: its time against the bound."""
    name = f"{assignment.id.partition('/')[2]}/{solution.label}"
    return {
        "id": name if case == "all" else f"{name}/{case}",
        "assignment": assignment.id,
        "solution": solution.label,
        "case": case,
        "seconds": fields["seconds"],
        "bound_seconds": fields["bound_seconds"],
        "fraction": fields["bound_seconds"] / fields["seconds"],
        "ratios": {"fraction": ["bound_seconds", "seconds"]},
    }


if __name__ == "__main__":
    sys.exit(main())
