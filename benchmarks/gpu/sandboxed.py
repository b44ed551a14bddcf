"""Does the sandbox change the times? The same program in it and without it, in turns, on a device.

As root both have a freezer and the same constant; what differs are user, namespaces, filter and mounts. Needs
a calibrated device:

    python -m benchmarks.gpu.sandboxed
"""

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from benchmarks.clock.kernels import KERNELS
from benchmarks.gpu import sessions
from grader.contract import Verdict
from grader.hardware import profile
from grader.judge import environment, timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry

OUTPUT = results_schema.RESULTS / "sandboxed.h200.json"
SESSIONS = 6
NAMES = ("add-1024-linked", "add-8192", "add-16384", "add-32768")


def main() -> int:
    """Run the sessions, write the results; 0 if all were accepted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="Of each kind.")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    hardware = profile.load(arguments.hardware)
    device = Device.open(arguments.hardware)
    backends = {"sandboxed": registry.choose(None), "plain": registry.choose("plain")}
    kernels = [kernel for kernel in KERNELS if kernel.name in NAMES]
    program = kernels[0].program
    subject = sessions.program(
        f"solution{program.suffix}",
        program.read_bytes(),
        backends["sandboxed"],
        device.compiler_flags,
    )
    plans = sessions.with_fill_rates(
        timed.plan(kernel.task, kernel.case, hardware, device) for kernel in kernels
    )
    samples: dict[str, dict[str, list[float]]] = {
        kernel.name: {kind: [] for kind in backends} for kernel in kernels
    }
    refused = []
    for _ in range(arguments.sessions):
        for kind, backend in backends.items():
            session = sessions.run(subject, plans, backend, device, hardware)
            device.check_clean()
            if session.verdict is not Verdict.ACCEPTED:
                refused.append(f"{kind}: {session.verdict.value} {session.message}")
                print(refused[-1], flush=True)
                continue
            for kernel, timing in zip(kernels, session.timings, strict=True):
                samples[kernel.name][kind].append(statistics.median(timing.result.rounds))
    header = results_schema.header(
        f"python -m benchmarks.gpu.sandboxed --sessions {arguments.sessions}",
        device.name,
        device.driver,
        environment.judge_version(),
    )
    header["environment"] |= {"device_judge": environment.device_judge()}
    header["environment"] |= {"sandbox": backends["sandboxed"].name, "refused": "; ".join(refused)}
    device.close()
    rows = [row(name, found) for name, found in samples.items()]
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    for measured in rows:
        print({key: value for key, value in measured.items() if key not in ("samples", "ratios")})
    return 0 if not refused else 1


def row(name: str, found: dict[str, list[float]]) -> dict[str, Any]:
    """One kernel: medians, their scatter, and the one over the other."""
    fields: dict[str, Any] = {"id": name, "sessions": len(found["plain"])}
    for kind, values in found.items():
        fields |= {f"{kind}_seconds": statistics.median(values)}
        fields |= {f"{kind}_seconds_cv": results_schema.cv(values)}
    fields["sandboxed_ratio"] = fields["sandboxed_seconds"] / fields["plain_seconds"]
    return {
        **fields,
        "samples": {f"{kind}_seconds": values for kind, values in found.items()},
        "ratios": {"sandboxed_ratio": ["sandboxed_seconds", "plain_seconds"]},
    }


if __name__ == "__main__":
    sys.exit(main())
