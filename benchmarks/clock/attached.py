"""Why is ncu's duration of a memory-bound kernel shorter than every other clock's?

The same calls are timed by events in a program of its own, with no profiler; with ncu attached to it but
profiling nothing; and within a range that ncu profiles, of which ncu says the duration as well. If events
themselves get shorter where ncu profiles, it is the device that runs faster then, and no clock is wrong.

    python -m benchmarks.clock.attached

`python -m benchmarks.clock.attached KERNEL` is the program that is timed.
"""

import argparse
import csv
import io
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from benchmarks.clock.kernels import KERNELS
from grader.judge.gpu.device import Device

OUTPUT = results_schema.RESULTS / "attached.h200.json"
NAMES = ("add-16384", "product-4096")
CALLS = 20
"""Of the range, one after the other, after as many that warm up."""
SPIN_CYCLES = 2_000_000
_DURATION, _FREQUENCY = "gpu__time_duration.sum", "dram__cycles_elapsed.avg.per_second"
_BASE = ("ncu", "--clock-control", "none", "--cache-control", "none")
SETTINGS: dict[str, Sequence[str]] = {
    "alone": (),
    "attached": (*_BASE, "--kernel-name", "none-of-these"),
    "profiled": (
        *_BASE, "--replay-mode", "app-range", "--csv", "--print-units", "base",
        "--metrics", f"{_DURATION},{_FREQUENCY}",
    ),
}  # fmt: skip
_SCALE = {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "ms": 1e6}


def main() -> int:
    """Run all settings, write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", nargs="?")
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    if arguments.kernel:
        print(json.dumps({"events": timed(arguments.kernel)}), flush=True)
        return 0
    device = Device.open(arguments.hardware)
    rows = [row(name, setting) for name in NAMES for setting in SETTINGS]
    header = results_schema.header("python -m benchmarks.clock.attached", device.name, device.driver)
    device.close()
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    return 0


def row(name: str, setting: str) -> dict[str, Any]:
    """One kernel in one setting."""
    command = [*SETTINGS[setting], sys.executable, "-m", "benchmarks.clock.attached", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = [line for line in done.stdout.splitlines() if line.startswith('{"events"')]
    found: dict[str, Any] = {"id": f"{name}/{setting}", "kernel": name, "setting": setting}
    if not said:
        return {**found, "failed": (done.stdout + done.stderr)[-500:]}
    # Of a program that ncu runs more than once the last run counts.
    seconds = json.loads(said[-1])["events"]
    found |= {"seconds": statistics.median(seconds), "samples": {"seconds": seconds}}
    for line in csv.DictReader(io.StringIO(done.stdout[done.stdout.find('"ID"') :])):
        if line.get("Metric Name") == _DURATION:
            nanoseconds = float(line["Metric Value"].replace(",", "")) * _SCALE[line["Metric Unit"]]
            found["ncu_seconds_of_a_call"] = nanoseconds * 1e-9 / CALLS
        if line.get("Metric Name") == _FREQUENCY:
            found["dram_frequency"] = f"{line['Metric Value']} {line['Metric Unit']}"
    print(found, flush=True)
    return found


def timed(name: str) -> list[float]:
    """Seconds of each call by events, within a range that a profiler can be told of."""
    import torch

    from benchmarks.clock.baselines import Arguments

    arguments = Arguments(next(kernel for kernel in KERNELS if kernel.name == name))
    for _ in range(CALLS):
        arguments.call()
    torch.cuda.synchronize()
    time.sleep(0.1)
    events = [
        torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
        for _ in range(CALLS + 1)
    ]
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call, unused-ignore]
    torch.cuda._sleep(SPIN_CYCLES)  # type: ignore[no-untyped-call, unused-ignore] # noqa: SLF001
    events[0].record()
    for event in events[1:]:
        arguments.call()
        event.record()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call, unused-ignore]
    return [a.elapsed_time(b) * 1e-3 for a, b in itertools.pairwise(events)]


if __name__ == "__main__":
    sys.exit(main())
