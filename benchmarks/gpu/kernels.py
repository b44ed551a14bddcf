"""Whole gradings of the references of GPU assignments on a device, beside the library's and the naive solution.

Each is `solmark grade` with everything that belongs to it; what they reach goes to `kernels.h200.json` and, as the
rows that milestones name, to `milestones.h200.json`. Rows of assignments that were not asked for stay as they
are. Needs a calibrated device:

    python -m benchmarks.gpu.kernels kernels/sol-gemm kernels/add-rmsnorm
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader import session
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.hardware import profile
from grader.judge import environment
from grader.sandbox import registry

ROOT = Path(__file__).parents[2]
KERNELS = results_schema.RESULTS / "kernels.h200.json"
MILESTONES = results_schema.RESULTS / "milestones.h200.json"
SOLUTIONS: Mapping[str, Mapping[str, str]] = {
    "kernels/sol-gemm": {
        "reference": "h200/solution.cu",
        "library": "library.py",
        "naive": "naive.py",
        "triton": "solution_triton.py",
    },
    "kernels/add-rmsnorm": {
        "reference": "solution_triton.py",
        "library": "library.py",
        "naive": "naive.py",
    },
}
"""By assignment, the files of its reference folder by their role; the library's is the baseline."""


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
    arguments = parser.parse_args()
    hardware = profile.load(arguments.hardware)
    good = True
    for name in arguments.assignments:
        timed: dict[str, list[dict[str, Any]]] = {}
        for role, file in SOLUTIONS[name].items():
            path = ROOT / "reference" / name / file
            if (arguments.roles and role not in arguments.roles) or not path.exists():
                continue
            report = graded(name, path, arguments.hardware, hardware)
            print(f"{name} {file}: {report.verdict.value}, {report.seconds:.1f} s: {report.message.en[:300]}")
            for row in cases(report):
                print(f"    {row['case']}: {row['seconds'] * 1e6:.2f} us, {row['fraction']:.1%}", flush=True)
            good = good and report.verdict is Verdict.ACCEPTED
            if report.verdict is Verdict.ACCEPTED:
                timed[role] = cases(report)
            elif report.staff is not None:
                print(json.dumps(report.staff.model_dump(mode="json"))[:3000], flush=True)
            if timed:
                head = header(arguments, report)
                rows = kernel_rows(name, timed)
                write(arguments.kernels, head, rows, lambda row, name=name: row["assignment"] != name)
                stones = [together(name, SOLUTIONS[name][role], found) for role, found in timed.items()]
                write(arguments.milestones, head, stones, lambda row, name=name: row["assignment"] != name)
    return 0 if good else 1


def graded(name: str, path: Path, target: str, hardware: profile.Hardware) -> Report:
    """One session."""
    loaded = assignments.load(assignments.find(name))
    data, file = path.read_bytes(), f"solution{path.suffix}"
    job = JobSpec(
        submission="kernels",
        attempt=1,
        token="kernels-benchmark",
        mode=Mode.GRADE,
        assignment=name,
        bundle=loaded.digest,
        files=(SourceFile(name=file, sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware=target),
        deadline=time.time() + 3600.0,
    )
    return session.grade(
        job, loaded, {file: data}, backend=registry.choose(None), hardware=hardware, emit=lambda _event: None
    )


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


def together(name: str, file: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The geometric means over a solution's cases, as milestones name them."""
    seconds = geometric_mean(row["seconds"] for row in rows)
    bound = geometric_mean(row["bound_seconds"] for row in rows)
    return {
        "id": f"{name.rpartition('/')[2]}/{file}",
        "assignment": name,
        "solution": file,
        "case": "all",
        "seconds": seconds,
        "bound_seconds": bound,
        "fraction": bound / seconds,
        "ratios": {"fraction": ["bound_seconds", "seconds"]},
    }


def header(arguments: argparse.Namespace, report: Report) -> dict[str, Any]:
    """Of the file, for what was measured last."""
    command = f"python -m benchmarks.gpu.kernels {' '.join(arguments.assignments)}"
    about = report.environment
    head = results_schema.header(command, about.hardware_name, about.driver, about.judge_version)
    head["environment"] |= {"freezer": about.freezer, "sandbox": about.sandbox}
    head["environment"] |= {"device_judge": environment.device_judge()}
    return head


def write(path: Path, head: Mapping[str, Any], rows: Sequence[dict[str, Any]], stays: Any) -> None:
    """The rows, and those of the file that stay."""
    others: list[dict[str, Any]] = []
    if path.exists():
        known = results_schema.read(path).model_dump(mode="json", by_alias=True)["rows"]
        others = [row for row in known if stays(row)]
    document = results_schema.ResultsFile.model_validate({**head, "rows": [*rows, *others]})
    results_schema.write(path, document)


if __name__ == "__main__":
    sys.exit(main())
