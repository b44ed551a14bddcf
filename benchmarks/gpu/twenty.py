"""Twenty timed cases in one session on a device: the seconds of the device they take, and where these go.

Needs a calibrated device:

    python -m benchmarks.gpu.twenty
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from benchmarks.gpu import sessions
from benchmarks.gpu.repeatability import ASSIGNMENT, REFERENCE
from grader import assignment
from grader.contract import Verdict
from grader.hardware import profile
from grader.judge import environment, timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry
from grader.task import Case, Tolerance

OUTPUT = results_schema.RESULTS / "twenty.h200.json"
SHAPES = [
    (rows, columns) for rows in (4096, 8192, 16384, 32768) for columns in (2048, 3000, 4096, 6144, 8192)
]
TOLERANCE = {"y": Tolerance(3.9e-3, 1.95e-3, 0.5)}


def main() -> int:
    """Run the session, write the results; 0 if it was accepted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    hardware = profile.load(arguments.hardware)
    backend = registry.choose(None)
    device = Device.open(arguments.hardware)
    task = assignment.load(assignment.find(ASSIGNMENT)).parts()["kernel"]
    assert task.kind == "function"
    data = (REFERENCE / "h200" / "solution.cu").read_bytes()
    subject = sessions.program("solution.cu", data, backend, device.compiler_flags)
    cases = [
        Case(f"{rows}x{columns}", "kernel", "public", "timed",
             {"rows": rows, "columns": columns, "dtype": "bfloat16", "epsilon": 1e-5}, tolerance=TOLERANCE)
        for rows, columns in SHAPES
    ]  # fmt: skip
    begin = time.monotonic()
    yardstick = device.yardstick(hardware)
    after_yardstick = time.monotonic()
    plans = sessions.with_rates([timed.plan(task, case, hardware, device) for case in cases], backend, device)
    alone = time.monotonic()
    session = sessions.run(subject, plans, backend, device, hardware)
    device.check_clean()
    end = time.monotonic()
    reading = device.noted()
    total: dict[str, Any] = {
        "id": "total",
        "verdict": session.verdict.value,
        "message": session.message[:300],
        "cases": len(session.timings),
        "device_seconds": end - begin,
        "yardstick_seconds": after_yardstick - begin,
        "fill_rates_and_empty_rounds_seconds": alone - after_yardstick,
        "session_seconds": session.seconds,
        "yardstick_ok": yardstick.ok,
        "temperature_celsius": reading.temperature,
        "sm_hertz": reading.clocks.get("sm"),
        "throttled": ", ".join(reading.throttled),
    }
    steps = sorted({step for timing in session.timings for step in timing.steps})
    spent = {step: sum(timing.steps.get(step, 0.0) for timing in session.timings) for step in steps}
    total |= {f"{step}_seconds".replace("-", "_"): seconds for step, seconds in spent.items()}
    total["start_and_rest_seconds"] = session.seconds - sum(spent.values())
    rows = [total, *(row(timing) for timing in session.timings)]
    header = results_schema.header(
        "python -m benchmarks.gpu.twenty", device.name, device.driver, environment.judge_version()
    )
    header["environment"] |= {"device_judge": environment.device_judge()}
    device.close()
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    print(total)
    return 0 if session.verdict is Verdict.ACCEPTED else 1


def row(timing: timed.Timing) -> dict[str, Any]:
    """One case."""
    result = timing.result
    found: dict[str, Any] = {
        "id": result.case,
        "verdict": result.verdict.value if result.verdict else None,
        "calls": result.calls,
        "audited_slots": result.audited_slots,
        "duty_cycle": timing.duty_cycle,
        "case_seconds": sum(timing.steps.values()),
    }
    if result.measure is not None and result.measure.bound is not None:
        found |= {
            "seconds": result.measure.value,
            "bound_seconds": result.measure.bound,
            "fraction": result.measure.bound / result.measure.value,
            "ratios": {"fraction": ["bound_seconds", "seconds"]},
        }
    return found


if __name__ == "__main__":
    sys.exit(main())
