"""Everything that is measured on a device, once more with the code of now, within the minutes of a lease.

    python -m benchmarks.gpu.remeasure --seconds 560 --output DIR

Calibrates, then runs the scripts below. With two devices of one class on the machine each takes a lane of
its own, with half of the cores, side by side; with one the lanes follow each other. Results and what is
unfinished (`*.partial`) lie in DIR: a second call with the same DIR goes on where the first one was. A lane
begins nothing that its seconds do not hold.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.judge import environment


@dataclass(frozen=True)
class Script:
    """A module of benchmarks, what it writes, and its seconds, at most; `resumes`: it can stop and go on."""

    module: str
    output: str
    seconds: float
    resumes: bool = False
    options: tuple[str, ...] = ()


LANES = (
    (
        Script("benchmarks.clock.measure", "clock.h200.json", 40.0, resumes=True),
        Script("benchmarks.gpu.sandboxed", "sandboxed.h200.json", 80.0),
        Script("benchmarks.gpu.constant", "constant.h200.json", 40.0, options=("--sessions", "3")),
    ),
    (
        Script("benchmarks.gpu.attacks", "attacks.h200.json", 40.0, resumes=True),
        Script("benchmarks.gpu.steps", "steps.h200.json", 15.0),
        Script("benchmarks.gpu.twenty", "twenty.h200.json", 60.0),
        Script("benchmarks.gpu.gradings", "gradings.h200.json", 100.0),
    ),
)


def main() -> int:
    """Run what is not there yet; 0 if every script was content."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--seconds", type=float, default=560.0)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    arguments.output.mkdir(parents=True, exist_ok=True)
    devices = _devices()
    for place, device in enumerate(devices):
        options = ["calibrate", "--hardware", arguments.hardware, *(["--quick"] if place else [])]
        command = ["-c", "from grader.cli.main import app; app()", *options]
        if code := _run(command, device, _cores(len(devices), place), end - time.monotonic()):
            print(f"device {device} could not be calibrated: {code}", flush=True)
            devices = devices[:place]
            break
    print(f"{len(devices)} devices, calibrated; {end - time.monotonic():.0f} s left", flush=True)
    codes: dict[str, int] = {}
    if not devices:
        return 1
    if len(devices) == 1:
        for lane in LANES:
            _lane(lane, devices[0], _cores(1, 0), arguments.output, end, codes)
    else:
        threads = [
            threading.Thread(
                target=_lane, args=(lane, device, _cores(2, place), arguments.output, end, codes)
            )
            for place, (lane, device) in enumerate(zip(LANES, devices, strict=False))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(codes, flush=True)
    return 0 if not any(codes.values()) else 1


def _lane(
    lane: Sequence[Script],
    device: str,
    cores: frozenset[int],
    folder: Path,
    end: float,
    codes: dict[str, int],
) -> None:
    for script in lane:
        left = end - time.monotonic()
        output = folder / script.output
        if _finished(output) and not script.resumes:
            continue
        if left < script.seconds:
            print(f"{script.module}: not begun, {left:.0f} s are left", flush=True)
            codes[script.module] = 1
            continue
        command = ["-m", script.module, "--output", str(output), *script.options]
        if script.resumes:
            command += ["--seconds", f"{left - script.seconds:.0f}"]
        if script.module.endswith("gradings"):
            command += ["--kernels", str(folder / "kernels.h200.json")]
        begin = time.monotonic()
        codes[script.module] = _run(command, device, cores, left)
        print(f"{script.module}: {codes[script.module]} in {time.monotonic() - begin:.0f} s", flush=True)


def _finished(output: Path) -> bool:
    """Whether these results are there, of the judge of now."""
    if not output.exists():
        return False
    found = json.loads(output.read_text("utf-8"))["environment"].get("device_judge")
    return bool(found == environment.device_judge())


def _run(command: Sequence[str], device: str, cores: frozenset[int], seconds: float) -> int:
    try:
        done = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": device},
            timeout=max(1.0, seconds),
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    except subprocess.TimeoutExpired:
        return 124
    return done.returncode


def _devices() -> list[str]:
    """Numbers of the devices here, two at most."""
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[: len(LANES)]


def _cores(lanes: int, place: int) -> frozenset[int]:
    """An equal share of this process's cores."""
    cores = sorted(os.sched_getaffinity(0))
    each = len(cores) // lanes
    return frozenset(cores[place * each : (place + 1) * each])


if __name__ == "__main__":
    sys.exit(main())
