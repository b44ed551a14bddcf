"""Whole gradings on a device of the references of GPU assignments, beside the library and the naive solution.

Each is `solmark grade` with everything that belongs to it; what they reach goes to `kernels.h200.json` and,
as the rows that milestones name, to `milestones.h200.json`. Rows of what was not measured stay as they are,
each with the judge and the day that it was measured with; a baseline beside a row is of the same run, or it
is null. Needs a calibrated device:

    python -m benchmarks.gpu.kernels kernels/sol-gemm kernels/add-rmsnorm

What a machine that is gone wrote is joined with what is here by `--merge`, a folder with both files:

    python -m benchmarks.gpu.kernels kernels/sol-gemm --merge FOLDER
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader.check import solutions
from grader.check.gradings import Grader
from grader.contract import Mode, Report, Verdict
from grader.hardware import profile
from grader.judge import environment
from grader.sandbox import registry

KERNELS = results_schema.RESULTS / "kernels.h200.json"
MILESTONES = results_schema.RESULTS / "milestones.h200.json"
SOLUTIONS: Mapping[str, Mapping[str, str]] = {
    "kernels/sol-gemm": {
        "reference": "h200/solution.cu",
        "library": "library.py",
        "naive": "naive.py",
    },
    "kernels/add-rmsnorm": {
        "reference": "solution_triton.py",
        "library": "library.py",
        "naive": "naive.py",
    },
    "rl/grpo-core": {
        "reference": "h200/solution.py",
        "pieces": "h200/pieces.py",
        "naive": "naive.py",
        "library": "library.py",
    },
}
"""By assignment, the files of its reference folder by their role; the library's is the baseline. What takes
longest comes last: rows are written after each."""


def main() -> int:
    """Grade, write the results after each session; 0 if every solution was accepted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("assignments", nargs="+", choices=sorted(SOLUTIONS))
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--roles", nargs="*", help="by default all")
    parser.add_argument("--kernels", type=Path, default=KERNELS)
    parser.add_argument("--milestones", type=Path, default=MILESTONES)
    parser.add_argument("--merge", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.merge is not None:
        merge(arguments.merge, arguments)
        return 0
    hardware = profile.load(arguments.hardware)
    good = True
    for name in arguments.assignments:
        timed: dict[str, list[dict[str, Any]]] = {}
        for role, file in SOLUTIONS[name].items():
            if arguments.roles and role not in arguments.roles:
                continue
            report = graded(name, file, arguments.hardware, hardware)
            print(f"{name} {file}: {report.verdict.value}, {report.seconds:.1f} s: {report.message.en[:300]}")
            for row in cases(report):
                print(f"    {row['case']}: {row['seconds'] * 1e6:.2f} us, {row['fraction']:.1%}", flush=True)
            good = good and report.verdict is Verdict.ACCEPTED
            if report.verdict is Verdict.ACCEPTED:
                timed[role] = cases(report)
            elif report.staff is not None:
                print(json.dumps(report.staff.model_dump(mode="json"))[:3000], flush=True)
            if timed:
                record(arguments, name, header(arguments, report), kernel_rows(name, timed), timed)
    return 0 if good else 1


def graded(name: str, file: str, target: str, hardware: profile.Hardware) -> Report:
    """One session of a solution, with the files that its header names."""
    assignment = assignments.load(assignments.find(name))
    found, _ = solutions.read(solutions.folder(assignment), target)
    solution = next(one for one in found if one.label == file)
    grader = Grader(assignment, registry.choose(None), hardware, target)
    return grader.grade(solution.files, Mode.GRADE, language=solution.language, once=False)


def cases(report: Report) -> list[dict[str, Any]]:
    """The timed cases of a session that were measured."""
    return [
        {
            "case": timed.case,
            "seconds": timed.measure.value,
            "low": timed.measure.low,
            "high": timed.measure.high,
            "bound_seconds": timed.measure.bound,
            "fraction": timed.measure.bound / timed.measure.value,
            "linked": timed.linked,
        }
        for timed in report.timed
        if timed.measure is not None and timed.measure.bound is not None
    ]


def kernel_rows(name: str, timed: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A row a case and role, beside the library's time where that was accepted."""
    baseline = {row["case"]: row["seconds"] for row in timed.get("library", ())}
    found = []
    for role, rows in timed.items():
        for row in rows:
            beside = baseline.get(row["case"])
            found.append(
                {
                    "id": f"{name}/{row['case']}/{role}",
                    "assignment": name,
                    "solution": role,
                    **row,
                    "baseline": "library",
                    "baseline_seconds": beside,
                    "ratios": {"fraction": ["bound_seconds", "seconds"]},
                }
            )
    return found


def stones_of(name: str, file: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What milestones name: a solution's cases, and their geometric means together."""
    label = f"{name.rpartition('/')[2]}/{file}"
    whole = {key: geometric_mean(row[key] for row in rows) for key in ("seconds", "bound_seconds")}
    every = [(f"{label}/{row['case']}", row["case"], row) for row in rows]
    return [
        {
            "id": identity,
            "assignment": name,
            "solution": file,
            "case": case,
            "seconds": row["seconds"],
            "bound_seconds": row["bound_seconds"],
            "fraction": row["bound_seconds"] / row["seconds"],
            "ratios": {"fraction": ["bound_seconds", "seconds"]},
        }
        for identity, case, row in [*every, (label, "all", whole)]
    ]


def header(arguments: argparse.Namespace, report: Report) -> dict[str, Any]:
    """Of the file, for what was measured last."""
    command = f"python -m benchmarks.gpu.kernels {' '.join(arguments.assignments)}"
    about = report.environment
    head = results_schema.header(command, about.hardware_name, about.driver, about.judge_version)
    head["environment"] |= {"freezer": about.freezer, "sandbox": about.sandbox}
    head["environment"] |= {"device_judge": environment.device_judge()}
    return head


def merge(folder: Path, arguments: argparse.Namespace) -> None:
    """What the folder's results have of the assignments asked for, into the results that are here."""
    new = results_schema.read(folder / KERNELS.name).model_dump(mode="json", by_alias=True)
    head = {name: value for name, value in new.items() if name != "rows"}
    for name in arguments.assignments:
        rows = [row for row in new["rows"] if row["assignment"] == name]
        timed = {
            role: [row for row in rows if row["solution"] == role]
            for role in SOLUTIONS[name]
            if any(row["solution"] == role for row in rows)
        }
        record(arguments, name, head, rows, timed)


def record(
    arguments: argparse.Namespace,
    name: str,
    head: Mapping[str, Any],
    rows: Sequence[dict[str, Any]],
    timed: Mapping[str, Sequence[dict[str, Any]]],
) -> None:
    """Both files, with these rows of one assignment in place of those that the same solutions had."""
    measured = {*timed, *(SOLUTIONS[name][role] for role in timed)}

    def stays(row: Mapping[str, Any]) -> bool:
        return bool(row["assignment"] != name or row["solution"] not in measured)

    stones = [
        stone for role, found in timed.items() for stone in stones_of(name, SOLUTIONS[name][role], found)
    ]
    write(arguments.kernels, head, rows, stays)
    write(arguments.milestones, head, stones, stays)


def stamped(head: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A row that says itself with which judge and when it was measured."""
    about = {"device_judge": head["environment"].get("device_judge", ""), "measured": head["date"]}
    return {**about, **row}


def write(
    path: Path,
    head: Mapping[str, Any],
    rows: Sequence[dict[str, Any]],
    stays: Callable[[Mapping[str, Any]], bool],
) -> None:
    """The rows, and those of the file that stay."""
    others: list[dict[str, Any]] = []
    if path.exists():
        known = results_schema.read(path).model_dump(mode="json", by_alias=True)
        others = [stamped(known, row) for row in known["rows"] if stays(row)]
    rows = [stamped(head, row) for row in rows]
    document = results_schema.ResultsFile.model_validate({**head, "rows": [*rows, *others]})
    results_schema.write(path, document)


if __name__ == "__main__":
    sys.exit(main())
