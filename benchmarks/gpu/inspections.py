"""The modes `profile` and `memcheck` on a device: what they say of right programs, and of one with an error.

The planted error is one element behind a buffer of the program's own: no audit can see it, memcheck must.

    python -m benchmarks.gpu.inspections
"""

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader import session
from grader.contract import JobSpec, Mode, Report, SourceFile, Target
from grader.hardware import profile
from grader.judge import environment
from grader.sandbox import registry

ASSIGNMENT = "kernels/add-rmsnorm"
REFERENCE = Path(__file__).parents[2] / "reference" / ASSIGNMENT
OUTPUT = results_schema.RESULTS / "inspections.h200.json"
SECONDS = 150.0
"""For one session."""
PLANTED = b"""#include <cuda_runtime.h>
#include "solmark.h"
static __global__ void past_the_end(float *buffer) { buffer[threadIdx.x] = 1.0f; }
extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *stream) {
    static float *buffer = nullptr;
    if (buffer == nullptr && cudaMalloc(&buffer, 64 * sizeof(float)) != cudaSuccess)
        return 1;
    past_the_end<<<1, 65, 0, (cudaStream_t)stream>>>(buffer);
    return 0;
}
"""


def main() -> int:
    """Run the four sessions, write the results after each; 0 if each said what it should."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    native = (REFERENCE / "h200" / "solution.cu").read_bytes()
    triton = (REFERENCE / "solution_triton.py").read_bytes()
    sessions = (
        ("memcheck/planted", Mode.MEMCHECK, "solution.cu", PLANTED),
        ("memcheck/right", Mode.MEMCHECK, "solution.cu", native),
        ("profile/cuda", Mode.PROFILE, "solution.cu", native),
        ("profile/triton", Mode.PROFILE, "solution.py", triton),
    )
    rows: list[dict[str, Any]] = []
    for name, mode, file, data in sessions:
        report = inspected(arguments.hardware, mode, file, data)
        found = [row(name, report, place) for place in range(max(1, len(report.inspections)))]
        rows += found
        print(name, report.verdict.value, f"{report.seconds:.1f} s", report.message.en, flush=True)
        for one in found:
            print("   ", {key: value for key, value in one.items() if key != "log"}, flush=True)
        header = results_schema.header(
            "python -m benchmarks.gpu.inspections",
            report.environment.hardware_name,
            report.environment.driver,
            report.environment.judge_version,
        )
        header["environment"] |= {"device_judge": environment.device_judge()}
        header["environment"] |= {"sandbox": report.environment.sandbox}
        results = results_schema.ResultsFile.model_validate({**header, "rows": rows})
        results_schema.write(arguments.output, results)
    return 0 if all(one["as_expected"] for one in rows) else 1


def inspected(hardware: str, mode: Mode, file: str, data: bytes) -> Report:
    """One session in a mode."""
    loaded = assignments.load(assignments.find(ASSIGNMENT))
    job = JobSpec(
        submission="inspections",
        attempt=1,
        token="inspections-benchmark",
        mode=mode,
        assignment=ASSIGNMENT,
        bundle=loaded.digest,
        files=(SourceFile(name=file, sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware=hardware),
        deadline=time.time() + SECONDS,
    )
    return session.grade(
        job,
        loaded,
        {file: data},
        backend=registry.choose(None),
        hardware=profile.load(hardware),
        emit=lambda _event: None,
    )


def row(name: str, report: Report, place: int) -> dict[str, Any]:
    """What a session said of its case number `place`, or that it said nothing."""
    fields: dict[str, Any] = {
        "id": f"{name}/{place + 1}",
        "verdict": report.verdict.value,
        "message": report.message.en[:300],
        "session_seconds": report.seconds,
        "notes": report.staff.traceback[-1000:] if report.staff else "",
    }
    if place >= len(report.inspections):
        return {**fields, "as_expected": False}
    found = report.inspections[place]
    fields |= {"case": found.case, "tool": found.tool, "said": found.message.en[:300]}
    if found.errors is not None:
        planted = name.endswith("planted")
        fields |= {"errors": found.errors, "log": found.log[:2000]}
        return {**fields, "as_expected": (found.errors > 0) is planted}
    kernels = found.kernels
    fields |= {
        "kernels": len(kernels),
        "instructions": ", ".join(f"{k} {v}" for k, v in found.features.items()),
    }
    if not kernels:
        return {**fields, "as_expected": False}
    first = kernels[0]
    fields |= {"kernel": first.name[:200], "calls": first.calls, "kernel_seconds": first.seconds}
    fields |= {"registers": first.registers, "dram_throughput": first.dram_share}
    fields |= {"tensor_throughput": first.tensor_share}
    return {**fields, "as_expected": first.seconds > 0}


if __name__ == "__main__":
    sys.exit(main())
