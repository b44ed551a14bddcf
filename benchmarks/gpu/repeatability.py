"""Time one solution of add-rmsnorm in many fresh sessions on a device: how far apart are they?

Each session is a fresh sandbox with rings of its own, without correctness tests. Needs a calibrated device:

    python -m benchmarks.gpu.repeatability
"""

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from benchmarks.gpu import sessions
from grader import assignment
from grader.contract import Verdict
from grader.hardware import profile
from grader.judge import environment, timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry

ASSIGNMENT = "kernels/add-rmsnorm"
REFERENCE = Path(__file__).parents[2] / "reference" / ASSIGNMENT
OUTPUT = results_schema.RESULTS / "repeatability.h200.json"
SOLUTIONS = ("h200/solution.cu", "solution_triton.py")
SESSIONS = 20


def main() -> int:
    """Run the sessions, write the results; 0 if all were accepted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--solutions", nargs="+", default=list(SOLUTIONS))
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    hardware = profile.load(arguments.hardware)
    if hardware.calibrated is None:
        parser.error(f"calibrate first: solmark calibrate --hardware {arguments.hardware}")
    backend = registry.choose(None)
    device = Device.open(arguments.hardware)
    loaded = assignment.load(assignment.find(ASSIGNMENT))
    task = loaded.parts()["kernel"]
    assert task.kind == "function"
    cases = [case for case in loaded.cases(arguments.hardware, bytes(16)) if case.role == "timed"]
    plans = sessions.with_rates([timed.plan(task, case, hardware, device) for case in cases], backend, device)
    rows: list[dict[str, Any]] = []
    accepted = True
    for name in arguments.solutions:
        path = REFERENCE / name
        subject = sessions.program(
            f"solution{path.suffix}", path.read_bytes(), backend, device.compiler_flags
        )
        done = []
        for number in range(1, arguments.sessions + 1):
            done.append(sessions.run(subject, plans, backend, device, hardware))
            device.check_clean()
            last = done[-1]
            print(
                name,
                number,
                last.verdict.value,
                last.message,
                f"{last.seconds:.1f} s",
                _times(last),
                flush=True,
            )
        accepted = accepted and all(session.verdict is Verdict.ACCEPTED for session in done)
        good = [session for session in done if len(session.timings) == len(plans)]
        rows += [row(name, place, good) for place in range(len(plans)) if good]
    reading = device.reading()
    header = results_schema.header(
        f"python -m benchmarks.gpu.repeatability --sessions {arguments.sessions}",
        device.name,
        device.driver,
        environment.judge_version(),
    )
    header["environment"] |= {name: f"{hertz:.4g} Hz" for name, hertz in reading.clocks.items()}
    header["environment"] |= {
        "temperature": f"{reading.temperature} C",
        "throttled": ", ".join(reading.throttled),
    }
    device.close()
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    return 0 if accepted else 1


def _times(session: sessions.Session) -> str:
    measures = [timing.result.measure for timing in session.timings]
    return " ".join(f"{measure.value * 1e6:.3f}" for measure in measures if measure is not None)


def row(solution: str, place: int, done: list[sessions.Session]) -> dict[str, Any]:
    """One case of one solution over all sessions."""
    timings = [session.timings[place] for session in done]
    results = [timing.result for timing in timings]
    values = [statistics.median(result.rounds) for result in results]
    within = [results_schema.cv(result.rounds) for result in results]
    measure = results[0].measure
    assert measure is not None
    seconds = statistics.median(values)
    steps = {key for timing in timings for key in timing.steps}
    probes = [result.probe.seconds for result in results if result.probe is not None]
    errors = [result.probe.standard_error for result in results if result.probe is not None]
    found: dict[str, Any] = {
        "id": f"add-rmsnorm/{results[0].case}/{solution}",
        "sessions": len(values),
        "seconds": seconds,
        "cv": results_schema.cv(values),
        "within_session": statistics.median(within),
        "bound_seconds": measure.bound,
        "fraction": (measure.bound or 0.0) / seconds,
        "calls": results[0].calls,
        "rounds": len(results[0].rounds),
        "overhead_seconds": results[0].overhead_seconds,
        "bias_bound_seconds": results[0].bias_bound_seconds,
        "witnesses": timings[-1].detail[-200:],
        "samples": {"seconds": values, "within_session": within},
        "ratios": {"fraction": ["bound_seconds", "seconds"]},
    }
    for step in sorted(steps):
        found[f"{step}_seconds"] = statistics.median(timing.steps.get(step, 0.0) for timing in timings)
    if probes:
        found |= {
            "probe_seconds": statistics.median(probes),
            "probe_error_seconds": statistics.median(errors),
        }
        found["samples"] |= {"probe_seconds": probes, "probe_error_seconds": errors}
    return found


if __name__ == "__main__":
    sys.exit(main())
