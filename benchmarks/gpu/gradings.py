"""Whole gradings of add-rmsnorm on a device: the reference solutions, and some wrong ones.

Each is `solmark grade` with everything that belongs to it. What the honest ones reach also goes to
`kernels.h200.json`, whose rows of other assignments stay as they are. Needs a calibrated device:

    python -m benchmarks.gpu.gradings
"""

import argparse
import hashlib
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader import assignment, session
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.hardware import profile
from grader.judge import environment
from grader.sandbox import registry

ASSIGNMENT = "kernels/add-rmsnorm"
REFERENCE = Path(__file__).parents[2] / "reference" / ASSIGNMENT
OUTPUT = results_schema.RESULTS / "gradings.h200.json"
KERNELS = results_schema.RESULTS / "kernels.h200.json"
ROLES = {"solution_triton.py": "reference", "library.py": "library", "naive.py": "naive"}
BASELINE = "library.py"
"""Eager PyTorch at its best: one kernel for the sum, and the library's norm."""
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
    parser.add_argument("--kernels", type=Path, default=KERNELS)
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
    header["environment"] |= {"device_judge": environment.device_judge()}
    results = results_schema.ResultsFile.model_validate({**header, "rows": rows})
    results_schema.write(arguments.output, results)
    others: list[dict[str, Any]] = []
    if arguments.kernels.exists():
        known = results_schema.read(arguments.kernels).model_dump(mode="json")["rows"]
        others = [row for row in known if row["assignment"] != ASSIGNMENT]
    results = results_schema.ResultsFile.model_validate({**header, "rows": [*kernels(rows), *others]})
    results_schema.write(arguments.kernels, results)
    return 0 if all(row.get("as_expected", True) for row in rows) else 1


def kernels(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the reference, the library and the naive solution reach, beside eager PyTorch."""
    seconds = {row["id"]: row["seconds"] for row in rows if "bound_seconds" in row}
    found = []
    for row in rows:
        solution, _, case = row["id"].rpartition("/")
        if "bound_seconds" not in row or solution not in ROLES:
            continue
        found.append(
            {
                "id": f"{ASSIGNMENT}/{case}/{ROLES[solution]}",
                "assignment": ASSIGNMENT,
                "case": case,
                "solution": ROLES[solution],
                "seconds": row["seconds"],
                "low": row["low_seconds"],
                "high": row["high_seconds"],
                "bound_seconds": row["bound_seconds"],
                "fraction": row["fraction"],
                "baseline": ROLES[BASELINE],
                "baseline_seconds": seconds[f"{BASELINE}/{case}"],
                "ratios": {"fraction": ["bound_seconds", "seconds"]},
            }
        )
    return found


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
    about, yardstick = report.environment, report.environment.yardstick
    total: dict[str, Any] = {
        "id": name,
        "verdict": report.verdict.value,
        "as_expected": report.verdict is expected,
        "message": report.message.en[:300],
        "session_seconds": report.seconds,
        "tests_passed": sum(test.verdict is Verdict.ACCEPTED for test in report.tests),
        "hidden_passed": report.hidden.passed if report.hidden else None,
        "duty_cycle": about.duty_cycle,
        "ranked": report.score.ranked if report.score else False,
        "temperature_celsius": about.temperature_celsius,
        "sm_hertz": about.clocks.get("sm"),
        "throttled": ", ".join(about.throttle_reasons),
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
