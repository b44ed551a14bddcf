"""Grade a solution ten times: do the intervals keep their promise, and how far apart are the sessions?

Each grading is a `solmark grade` of its own, a process that loads everything anew. At least nine of ten
intervals of a case must contain the median of the ten, and a grading takes under 15 s; the coefficient of
variation is reported. A grading whose time does not settle has no interval: it is counted, its duration too,
and run again. Wide intervals contain anything: a machine whose sessions were found to differ by more than
`SPREAD_AT_MOST` is refused. Run it on an idle machine, calibrated just before:

    python -m benchmarks.repeatability
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader.contract import Report, TimedResult, Verdict, read
from grader.hardware import profile

ASSIGNMENT = "kernels/add-rmsnorm"
REFERENCE = Path(__file__).parents[1] / "reference" / ASSIGNMENT
SOLUTIONS = (REFERENCE / "solution.cpp", REFERENCE / "solution.py")
OUTPUT = results_schema.RESULTS / "repeatability.cpu.json"
GRADINGS = 10
UNSTABLE_AT_MOST = 10
"""More gradings without an interval than this, of one solution, and the machine was not idle."""
SESSION_SECONDS = 15.0
SPREAD_AT_MOST = 0.05
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
ENTRY = "from grader.cli.main import app; app()"


def main() -> int:
    """Grade, write the results, say what was found; 0 if the promises are kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--solutions", type=Path, nargs="+", default=SOLUTIONS)
    parser.add_argument("--gradings", type=int, default=GRADINGS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    hardware = profile.load("cpu")
    if hardware.calibrated is None:
        parser.error("this machine is not calibrated: run `solmark calibrate` while it is idle")
    if hardware.session_spread > SPREAD_AT_MOST:
        parser.error(
            f"sessions on this machine differ by {hardware.session_spread:.1%}: "
            "wait until it is idle, and calibrate"
        )
    rows: list[dict[str, Any]] = []
    for solution in arguments.solutions:
        reports, unstable, walls = gradings(solution, arguments.gradings)
        for place in range(len(reports[0].timed)):
            rows += case_rows(solution.name, reports, unstable, walls, place)
    command = "python -m benchmarks.repeatability"
    if arguments.solutions != SOLUTIONS:
        command += f" --solutions {' '.join(map(str, arguments.solutions))}"
    if arguments.gradings != GRADINGS:
        command += f" --gradings {arguments.gradings}"
    header = results_schema.header(command, hardware.name, judge_version=reports[0].environment.judge_version)
    header["environment"] |= {
        "freezer": reports[0].environment.freezer,
        "huge_pages": HUGE_PAGES.read_text().strip(),
        "session_spread": f"{hardware.session_spread:.4f}",
    }
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    found = [row for row in rows if "containing_median" in row]
    for row in found:
        print(
            f"{row['id']}: cv {row['cv']:.2%}, {row['containing_median']} of {row['gradings']} intervals, "
            f"half-width {row['half_width']:.1%}, {row['unstable']} unstable, "
            f"session at most {row['session_seconds_max']:.1f} s, "
            f"{row['fraction']:.1%} of the speed of light"
        )
    return 0 if all(keeps_promises(row) for row in found) else 1


def keeps_promises(row: dict[str, Any]) -> bool:
    """Whether intervals and duration of a case are as README and the tests say."""
    return bool(
        row["containing_median"] >= 0.9 * row["gradings"] and row["session_seconds_max"] < SESSION_SECONDS
    )


def gradings(solution: Path, count: int) -> tuple[list[Report], list[Report], list[float]]:
    """Reports of `count` accepted gradings, those that did not settle, and the wall seconds of all."""
    reports: list[Report] = []
    unstable: list[Report] = []
    walls: list[float] = []
    while len(reports) < count:
        begin = time.monotonic()
        report = grade(solution)
        wall = time.monotonic() - begin
        print(f"{len(reports) + 1}/{count}", solution.name, summary(report), flush=True)
        walls.append(wall)
        if report.verdict is Verdict.UNSTABLE_TIMING and len(unstable) < UNSTABLE_AT_MOST:
            unstable.append(report)
            continue
        if report.verdict is not Verdict.ACCEPTED:
            raise SystemExit(f"{solution.name}: {report.verdict.value}: {report.message.en}")
        reports.append(report)
    return reports, unstable, walls


def grade(solution: Path) -> Report:
    """One `solmark grade` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, "grade", ASSIGNMENT, str(solution), "--json"],
        capture_output=True,
        check=False,
        timeout=600,
    )
    if not done.stdout:
        raise SystemExit(done.stderr.decode(errors="replace"))
    return read(Report, done.stdout)


def summary(report: Report) -> str:
    """One line for who waits."""
    times = ", ".join(
        f"{timed.case} {timed.measure.value:.4e} s [{timed.measure.low:.4e}, {timed.measure.high:.4e}]"
        for timed in report.timed
        if timed.measure is not None
    )
    return f"{report.verdict.value} in {report.seconds:.1f} s: {times}"


def case_rows(
    solution: str, reports: Sequence[Report], unstable: Sequence[Report], walls: Sequence[float], place: int
) -> list[dict[str, Any]]:
    """Of one case: a row for all gradings together, and one with the raw rounds of each."""
    timed = [report.timed[place] for report in reports]
    name = f"add-rmsnorm/{solution}/{timed[0].case}"
    measures = [result.measure for result in timed if result.measure is not None]
    values = [measure.value for measure in measures]
    widths = [(measure.high - measure.low) / 2 / measure.value for measure in measures]
    sessions = [report.seconds for report in (*reports, *unstable)]
    middle = statistics.median(values)
    total = {
        "id": name,
        "gradings": len(timed),
        "unstable": len(unstable),
        "seconds": middle,
        "cv": results_schema.cv(values),
        "containing_median": sum(measure.low <= middle <= measure.high for measure in measures),
        "bound_seconds": measures[0].bound,
        "fraction": (measures[0].bound or 0.0) / middle,
        "half_width": statistics.median(widths),
        "session_seconds": statistics.median(sessions),
        "wall_seconds": statistics.median(walls),
        "session_seconds_max": max(sessions),
        "samples": {
            "seconds": values,
            "low_seconds": [measure.low for measure in measures],
            "high_seconds": [measure.high for measure in measures],
            "half_width": widths,
            "session_seconds": sessions,
            "wall_seconds": list(walls),
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
