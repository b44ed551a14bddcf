"""Grade one solution ten times: do the intervals keep their promise, and how far apart are the sessions?

Each grading is a whole session in fresh sandboxes. At least nine of ten intervals of a case must contain the
median of the ten; the coefficient of variation is reported. Run it on an idle, calibrated machine:

    python -m benchmarks.repeatability
"""

import argparse
import hashlib
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader import assignment, session
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, TimedResult
from grader.hardware import profile
from grader.sandbox import registry

ASSIGNMENT = "kernels/add-rmsnorm"
SOLUTION = Path(__file__).parents[1] / "reference" / ASSIGNMENT / "solution.cpp"
OUTPUT = results_schema.RESULTS / "repeatability.cpu.json"
GRADINGS = 10
LEASE_SECONDS = 3600.0


def main() -> int:
    """Grade, write the results, say what was found; 0 if enough intervals contain the median."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--solution", type=Path, default=SOLUTION)
    parser.add_argument("--gradings", type=int, default=GRADINGS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    hardware = profile.load("cpu")
    if hardware.calibrated is None:
        parser.error("this machine is not calibrated: run `solmark calibrate` while it is idle")
    reports = []
    for number in range(1, arguments.gradings + 1):
        reports.append(grade(arguments.solution, hardware))
        print(f"{number}/{arguments.gradings}", summary(reports[-1]), flush=True)
    rows = [row for case in range(len(reports[0].timed)) for row in case_rows(reports, case)]
    command = "python -m benchmarks.repeatability"
    if arguments.gradings != GRADINGS:
        command += f" --gradings {arguments.gradings}"
    header = results_schema.header(command, hardware.name, judge_version=reports[0].environment.judge_version)
    header["environment"] |= {"freezer": reports[0].environment.freezer, "solution": arguments.solution.name}
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    found = [row for row in rows if "containing_median" in row]
    for row in found:
        print(f"{row['id']}: cv {row['cv']:.2%}, {row['containing_median']} of {row['gradings']} intervals")
    return 0 if all(row["containing_median"] >= 0.9 * row["gradings"] for row in found) else 1


def grade(solution: Path, hardware: profile.Hardware) -> Report:
    """One session."""
    loaded = assignment.load(assignment.find(ASSIGNMENT))
    data = solution.read_bytes()
    file = SourceFile(
        name=f"solution{solution.suffix}", sha256=hashlib.sha256(data).hexdigest(), size=len(data)
    )
    job = JobSpec(
        submission="repeatability",
        attempt=1,
        token="repeatability-benchmark",
        mode=Mode.GRADE,
        assignment=ASSIGNMENT,
        bundle=loaded.digest,
        files=(file,),
        target=Target(hardware="cpu"),
        deadline=time.time() + LEASE_SECONDS,
    )
    report = session.grade(
        job,
        loaded,
        {file.name: data},
        backend=registry.choose(),
        hardware=hardware,
        emit=lambda _event: None,
    )
    if not report.timed or any(timed.measure is None for timed in report.timed):
        raise SystemExit(f"not timed: {report.verdict.value}: {report.message.en}")
    return report


def summary(report: Report) -> str:
    """One line for who waits."""
    times = ", ".join(
        f"{timed.case} {timed.measure.value:.4e} s [{timed.measure.low:.4e}, {timed.measure.high:.4e}]"
        for timed in report.timed
        if timed.measure is not None
    )
    return f"{report.verdict.value} in {report.seconds:.1f} s: {times}"


def case_rows(reports: Sequence[Report], place: int) -> list[dict[str, Any]]:
    """Of one case: a row for all gradings together, and one with the raw rounds of each."""
    timed = [report.timed[place] for report in reports]
    name = f"add-rmsnorm/{timed[0].case}"
    measures = [result.measure for result in timed if result.measure is not None]
    values = [measure.value for measure in measures]
    middle = statistics.median(values)
    total = {
        "id": name,
        "gradings": len(timed),
        "seconds": middle,
        "cv": results_schema.cv(values),
        "containing_median": sum(measure.low <= middle <= measure.high for measure in measures),
        "bound_seconds": measures[0].bound,
        "fraction": (measures[0].bound or 0.0) / middle,
        "session_seconds": statistics.median(report.seconds for report in reports),
        "session_seconds_max": max(report.seconds for report in reports),
        "samples": {
            "seconds": values,
            "low_seconds": [measure.low for measure in measures],
            "high_seconds": [measure.high for measure in measures],
            "session_seconds": [report.seconds for report in reports],
        },
        "ratios": {"fraction": ["bound_seconds", "seconds"]},
    }
    return [total, *(_grading_row(name, number, result) for number, result in enumerate(timed, start=1))]


def _grading_row(name: str, number: int, timed: TimedResult) -> dict[str, Any]:
    return {
        "id": f"{name}/{number}",
        "verdict": timed.verdict.value if timed.verdict else "",
        "calls": timed.calls,
        "seconds": statistics.median(timed.rounds),
        "cv": results_schema.cv(timed.rounds),
        "overhead_seconds": timed.overhead_seconds,
        "bias_bound_seconds": timed.bias_bound_seconds,
        "samples": {"seconds": list(timed.rounds)},
    }


if __name__ == "__main__":
    sys.exit(main())
