"""Whole gradings of add-rmsnorm on a device: the reference solutions, and some wrong ones.

Each is `solmark grade` with everything that belongs to it. Needs a calibrated device:

    python -m benchmarks.gpu.gradings
"""

import argparse
import hashlib
import re
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader import assignment, session
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.hardware import profile
from grader.sandbox import registry

ASSIGNMENT = "kernels/add-rmsnorm"
REFERENCE = Path(__file__).parents[2] / "reference" / ASSIGNMENT
OUTPUT = results_schema.RESULTS / "gradings.h200.json"
SOLUTIONS = (
    "h200/solution.cu",
    "solution_triton.py",
    "library.py",
    "naive.py",
    "wrong/eps_missing.py",
    "wrong/cheat_replays_the_outputs.py",
    "wrong/returns_the_result.py",
)
_VERDICT = re.compile(r"solmark: verdict=(\w+)")


def main() -> int:
    """Grade all, write the results; 0 if each got the verdict that its header names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    hardware = profile.load(arguments.hardware)
    rows: list[dict[str, Any]] = []
    report: Report | None = None
    for name in SOLUTIONS:
        path = REFERENCE / name
        match = _VERDICT.search(path.read_text("utf-8"))
        expected = Verdict(match[1]) if match else Verdict.ACCEPTED
        report = grade(path, arguments.hardware, hardware)
        rows += graded(name, expected, report)
        print(name, report.verdict.value, f"{report.seconds:.1f} s", report.message.en[:200], flush=True)
    assert report is not None
    header = results_schema.header(
        "python -m benchmarks.gpu.gradings",
        report.environment.hardware_name,
        report.environment.driver,
        report.environment.judge_version,
    )
    header["environment"] |= {"freezer": report.environment.freezer, "sandbox": report.environment.sandbox}
    results = results_schema.ResultsFile.model_validate({**header, "rows": rows})
    results_schema.write(arguments.output, results)
    return 0 if all(row.get("as_expected", True) for row in rows) else 1


def grade(path: Path, target: str, hardware: profile.Hardware) -> Report:
    """One session."""
    loaded = assignment.load(assignment.find(ASSIGNMENT))
    data, name = path.read_bytes(), f"solution{path.suffix}"
    job = JobSpec(
        submission="gradings",
        attempt=1,
        token="gradings-benchmark",
        mode=Mode.GRADE,
        assignment=ASSIGNMENT,
        bundle=loaded.digest,
        files=(SourceFile(name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware=target),
        deadline=time.time() + 3600.0,
    )
    return session.grade(
        job,
        loaded,
        {name: data},
        backend=registry.choose(None),
        hardware=hardware,
        emit=lambda _event: None,
    )


def graded(name: str, expected: Verdict, report: Report) -> list[dict[str, Any]]:
    """A row for the session and one for each timed case."""
    environment, yardstick = report.environment, report.environment.yardstick
    total: dict[str, Any] = {
        "id": name,
        "verdict": report.verdict.value,
        "as_expected": report.verdict is expected,
        "message": report.message.en[:300],
        "session_seconds": report.seconds,
        "tests_passed": sum(test.verdict is Verdict.ACCEPTED for test in report.tests),
        "hidden_passed": report.hidden.passed if report.hidden else None,
        "ranked": report.score.ranked if report.score else False,
        "temperature_celsius": environment.temperature_celsius,
        "sm_hertz": environment.clocks.get("sm"),
        "throttled": ", ".join(environment.throttle_reasons),
    }
    if yardstick is not None:
        total |= {
            "copy_bytes_per_second": yardstick.copy_bytes_per_second,
            "product_operations_per_second": yardstick.matmul_flops,
            "yardstick_ok": yardstick.ok,
        }
    for entry in report.phases:
        key = f"{entry.phase.value}_{entry.step or 'all'}_seconds".replace(" ", "_")
        if entry.seconds >= 0.01:
            total[key] = entry.seconds
    rows = [total]
    for timed in report.timed:
        if timed.measure is None or timed.measure.bound is None:
            continue
        rows.append(
            {
                "id": f"{name}/{timed.case}",
                "seconds": timed.measure.value,
                "low_seconds": timed.measure.low,
                "high_seconds": timed.measure.high,
                "bound_seconds": timed.measure.bound,
                "fraction": timed.measure.bound / timed.measure.value,
                "calls": timed.calls,
                "eager": timed.eager,
                "audited_slots": timed.audited_slots,
                "probe_seconds": timed.probe.seconds if timed.probe else None,
                "samples": {"seconds": list(timed.rounds)},
                "ratios": {"fraction": ["bound_seconds", "seconds"]},
            }
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
