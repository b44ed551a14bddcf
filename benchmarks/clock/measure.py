"""The outside clock beside do_bench and per-call events, in one run, on kernels from 2 µs to 2 ms.

A grading here is a fresh sandbox; kernels are graded in groups of a few seconds. Every number is kept at once
beside the output: a run that breaks off goes on where it was, a finished one of the same judge is added to,
and `--merge` writes what there is, on any machine. Needs a calibrated device:

    python -m benchmarks.clock.measure
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from benchmarks.clock import baselines
from benchmarks.clock.kernels import KERNELS, Kernel
from benchmarks.gpu import sessions
from grader.contract import Verdict
from grader.hardware import profile
from grader.judge import environment, timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry

OUTPUT = results_schema.RESULTS / "clock.h200.json"
GRADINGS = 20
SHORT_GRADINGS = 5
"""Of short kernels without a link, which no grading ranks."""
CLEAN_REPEATS = 3
FIELDS = {
    "outside": "seconds", "do_bench": "do_bench_seconds", "events": "events_seconds",
    "ncu": "ncu_seconds", "clean": "clean_seconds",
    "ncu read": "ncu_read_bytes", "ncu written": "ncu_written_bytes", "ncu sm": "ncu_sm_hertz",
}  # fmt: skip
"""Clocks and what a row calls their numbers. `clean` are events after a flush that only reads."""
Kept = dict[tuple[str, str], list[float]]
"""(clock, kernel) to its numbers."""


def main() -> int:
    """Measure what is missing, write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--seconds", type=float, default=3600.0, help="Begin nothing after so long.")
    parser.add_argument("--merge", action="store_true", help="Measure nothing: write what there is.")
    arguments = parser.parse_args()
    kept = arguments.output.with_suffix(".partial")
    if not kept.exists() and arguments.output.exists():
        revive(arguments.output, kept)
    if not arguments.merge:
        run(arguments.hardware, kept, time.monotonic() + arguments.seconds)
    header, numbers = read(kept)
    rows = [row(kernel, numbers) for kernel in KERNELS if ("outside", kernel.name) in numbers]
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    for measured in rows:
        print({key: value for key, value in measured.items() if key not in ("samples", "ratios")})
    return 0


def groups() -> list[tuple[list[Kernel], int]]:
    """Kernels that are graded in one sandbox, and in how many."""
    add = [kernel for kernel in KERNELS if kernel.program.stem == "add"]
    rest = [kernel for kernel in KERNELS if kernel.program.stem != "add"]
    linked = [kernel for kernel in add if kernel.linked]
    short = [kernel for kernel in add if not kernel.linked and kernel.size <= max(k.size for k in linked)]
    long = [kernel for kernel in add if not kernel.linked and kernel not in short]
    return [(linked, GRADINGS), (long, GRADINGS), (rest, GRADINGS), (short, SHORT_GRADINGS)]


class Notes:
    """The numbers kept so far, and when to stop taking more."""

    def __init__(self, kept: Path, until: float) -> None:
        self._kept, self._until = kept, until
        self._have = {key: len(values) for key, values in read(kept)[1].items()}

    def count(self, clock: str, kernel: Kernel) -> int:
        """How many numbers there are."""
        return self._have.get((clock, kernel.name), 0)

    def due(self, clock: str, kernels: Sequence[Kernel], wanted: int) -> bool:
        """Whether more are wanted, and there is time."""
        return (
            min(self.count(clock, kernel) for kernel in kernels) < wanted and time.monotonic() < self._until
        )

    def take(self, clock: str, kernel: Kernel, values: Sequence[float]) -> None:
        """Keep more numbers."""
        for value in values:
            with self._kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"clock": clock, "kernel": kernel.name, "seconds": value}) + "\n")
        self._have[clock, kernel.name] = self.count(clock, kernel) + len(values)


def run(hardware_class: str, kept: Path, until: float) -> None:
    """Measure what `kept` does not hold yet, until the time is over."""
    device = Device.open(hardware_class)
    begin(kept, device)
    notes = Notes(kept, until)
    for kernel in KERNELS:
        if not kernel.linked and notes.due("events", [kernel], GRADINGS):
            inside(kernel, notes)
    for kernel in KERNELS:
        if not kernel.linked and notes.due("ncu", [kernel], 1):
            for name, values in baselines.ncu(kernel).items():
                notes.take(name, kernel, values)
    for kernels, wanted in groups():
        outside(hardware_class, device, notes, kernels, wanted)
    device.close()


def outside(
    hardware_class: str, device: Device, notes: Notes, kernels: Sequence[Kernel], wanted: int
) -> None:
    """Gradings of a group, timed as the judge times."""
    hardware, backend = profile.load(hardware_class), registry.choose(None)
    plans = sessions.with_fill_rates(
        timed.plan(kernel.task, kernel.case, hardware, device) for kernel in kernels
    )
    program = kernels[0].program
    subject = sessions.program(
        f"solution{program.suffix}", program.read_bytes(), backend, device.compiler_flags
    )
    while notes.due("outside", kernels, wanted) and notes.count("outside failed", kernels[0]) <= GRADINGS:
        session = sessions.run(subject, plans, backend, device, hardware)
        device.check_clean()
        if session.verdict is not Verdict.ACCEPTED:
            print(kernels[0].name, session.verdict.value, session.message, flush=True)
            notes.take("outside failed", kernels[0], [session.seconds])
            continue
        for kernel, timing in zip(kernels, session.timings, strict=True):
            notes.take("outside", kernel, [statistics.median(timing.result.rounds)])


def inside(kernel: Kernel, notes: Notes) -> None:
    """do_bench and events, about a second each."""
    import torch

    arguments = baselines.Arguments(kernel)
    arguments.call()
    torch.cuda.synchronize()
    for _ in range(GRADINGS - notes.count("events", kernel)):
        notes.take("do_bench", kernel, [baselines.do_bench(arguments.call)])
        notes.take("events", kernel, [baselines.events(arguments.call)])
    for _ in range(CLEAN_REPEATS - notes.count("clean", kernel)):
        notes.take("clean", kernel, [baselines.events(arguments.call, clean=True)])
    del arguments
    torch.cuda.empty_cache()


def begin(kept: Path, device: Device) -> None:
    """Write the header, unless there is one of the same judge."""
    header = results_schema.header(
        "python -m benchmarks.clock.measure", device.name, device.driver, environment.judge_version()
    )
    header["environment"] |= {"device_judge": environment.device_judge()}
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    same = lines and json.loads(lines[0])["environment"].get("device_judge") == environment.device_judge()
    lines = [json.dumps(header), *(lines[1:] if same else [])]
    kept.write_text("\n".join(lines) + "\n", "utf-8")


def revive(output: Path, kept: Path) -> None:
    """Take the numbers of finished results as the start of a run; another judge's are dropped by it."""
    results = results_schema.read(output)
    lines = [results.model_dump_json(by_alias=True, exclude={"rows"})]
    for measured in results.rows:
        lines += [
            json.dumps({"clock": clock, "kernel": measured.id, "seconds": seconds})
            for clock, name in FIELDS.items()
            for seconds in measured.samples.get(name, ())
        ]
    kept.write_text("\n".join(lines) + "\n", "utf-8")


def read(kept: Path) -> tuple[dict[str, Any], Kept]:
    """Header and numbers."""
    header, *rest = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    numbers: Kept = {}
    for entry in rest:
        numbers.setdefault((entry["clock"], entry["kernel"]), []).append(entry["seconds"])
    return header, numbers


def row(kernel: Kernel, numbers: Kept) -> dict[str, Any]:
    """One kernel by all clocks."""
    found: dict[str, Any] = {"id": kernel.name, "kernel": kernel.name, "linked": kernel.linked}
    samples: dict[str, list[float]] = {}
    ratios: dict[str, tuple[str, str]] = {}
    for clock, name in FIELDS.items():
        values = numbers.get((clock, kernel.name))
        if not values:
            continue
        samples[name] = values
        found[name] = statistics.median(values)
        if clock in ("outside", "do_bench", "events") and len(values) > 1:
            found[f"{name}_cv"] = results_schema.cv(values)
    if len(samples["seconds"]) > 1:
        found["cv"] = found["seconds_cv"]
    for other in ("ncu", "do_bench", "events", "clean"):
        if f"{other}_seconds" in found:
            ratios[f"{other}_ratio"] = ("seconds", f"{other}_seconds")
            found[f"{other}_ratio"] = found["seconds"] / found[f"{other}_seconds"]
    failed = numbers.get(("outside failed", kernel.name))
    return {**found, "failed_gradings": len(failed or ()), "samples": samples, "ratios": ratios}


if __name__ == "__main__":
    sys.exit(main())
