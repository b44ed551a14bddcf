"""Cheats and hostile programs against the judge on a device: none may gain, and the device must stay well.

A program's first line names its task, its family and the verdicts that it may get. It gains when it is
accepted with a time below 0.9 of the best honest program of the same run. Needs a calibrated CUDA device:

    python -m benchmarks.gpu.attacks

Every row is kept beside the output at once: a run that breaks off goes on after its last row, and
`--merge` writes what there is, on any machine.
"""

import argparse
import json
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks import results_schema
from benchmarks.gpu import sessions
from grader.contract import Verdict
from grader.fills import uniform
from grader.hardware import profile
from grader.judge import environment, timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry
from grader.task import Case, Cost, FunctionTask, Params, Slot, Tensor, Tolerance

OUTPUT = results_schema.RESULTS / "attacks_device.h200.json"
PROGRAMS = Path(__file__).parents[2] / "tests" / "attacks" / "device"
GAIN = 0.9
HONEST = ("honest", "hostile")
"""Families of programs that do not try to gain."""
WARM_UP_SECONDS = 8.0
STEPS = 12000
_HEADER = re.compile(r"attack: task=(\w+) family=(\w+) expected=([\w,]+)")


@dataclass(frozen=True)
class Attack:
    """One program and what its first line says."""

    name: str
    data: bytes
    task: str
    family: str
    expected: tuple[Verdict, ...]


def main() -> int:
    """Run all, write the results; 0 if nothing gained and every verdict was one of those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--merge", action="store_true", help="Run nothing: write the rows that are there.")
    parser.add_argument("names", nargs="*", help="Only programs whose name begins with one of these.")
    arguments = parser.parse_args()
    kept = arguments.output.with_suffix(".partial")
    if not arguments.merge:
        run(arguments.hardware, read(arguments.names), kept)
    header, *found = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    judged(found)
    results = results_schema.ResultsFile.model_validate({**header, "rows": found})
    results_schema.write(arguments.output, results)
    kept.unlink()
    return 0 if all(row["as_expected"] and not row["gained"] for row in found) else 1


def run(hardware_class: str, attacks: Sequence[Attack], kept: Path) -> None:
    """Run what `kept` does not hold yet; its first line is the header of the results."""
    hardware = profile.load(hardware_class)
    backend = registry.choose(None)
    device = Device.open(hardware_class)
    header = results_schema.header(
        "python -m benchmarks.gpu.attacks", device.name, device.driver, environment.judge_version()
    )
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    if not lines or json.loads(lines[0])["judge_version"] != header["judge_version"]:
        lines = [json.dumps(header)]
        kept.write_text(lines[0] + "\n", "utf-8")
    done = {json.loads(line)["id"] for line in lines[1:]}
    plans = {
        name: sessions.with_rates([make(hardware, device)], backend, device) for name, make in TASKS.items()
    }
    for attack in attacks:
        if attack.name in done:
            continue
        row: dict[str, Any] = {"id": attack.name, "task": attack.task, "family": attack.family}
        try:
            subject = sessions.program(attack.name, attack.data, backend, device)
            session = sessions.run(
                subject, plans[attack.task], backend, device, hardware, warm_up=WARM_UP_SECONDS
            )
            device.check_clean()
            row |= outcome(attack, session)
        except Exception as error:  # noqa: BLE001 (what a program does to the judge is the finding)
            traceback.print_exc()
            row |= {"verdict": "", "as_expected": False, "message": f"the judge failed: {error!r}"[:300]}
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)
    device.close()


def judged(found: Sequence[dict[str, Any]]) -> None:
    """Add to each row the best honest time of its task, and whether the program gained."""
    for row in found:
        honest = min(
            other["seconds"]
            for other in found
            if other["family"] == "honest" and other["task"] == row["task"] and "seconds" in other
        )
        accepted = row["verdict"] == Verdict.ACCEPTED.value and row["family"] not in HONEST
        row |= {"honest_seconds": honest, "gained": accepted and row["seconds"] < GAIN * honest}


def read(names: Sequence[str]) -> list[Attack]:
    """All programs, the honest ones first and the hostile ones last."""
    attacks = []
    for path in sorted(PROGRAMS.iterdir()):
        match = _HEADER.search(path.read_text("utf-8").partition("\n")[0])
        if match is None:
            raise SystemExit(f"{path.name}: its first line does not say what it is")
        expected = tuple(Verdict(verdict) for verdict in match[3].split(","))
        attacks.append(Attack(path.name, path.read_bytes(), match[1], match[2], expected))
    order = {"honest": 0, "hostile": 2}
    attacks.sort(key=lambda attack: order.get(attack.family, 1))
    if names:
        attacks = [a for a in attacks if a.family == "honest" or a.name.startswith(tuple(names))]
    # The first once more at the end: is the device still well?
    return [*attacks, replace(attacks[0], name=f"after_all_{attacks[0].name}")]


def outcome(attack: Attack, session: sessions.Session) -> dict[str, Any]:
    """Verdict, time and evidence of one session."""
    row: dict[str, Any] = {
        "verdict": session.verdict.value,
        "as_expected": session.verdict in attack.expected,
        "message": session.message[:300],
        "session_seconds": session.seconds,
    }
    if not session.timings:
        return row
    timing = session.timings[-1]
    result = timing.result
    row["rounds"] = len(result.rounds)
    row["calls"] = result.calls
    if timing.evidence:
        evidence = timing.evidence[0]
        row |= {"evidence": evidence.kind, "measured": evidence.measured, "limit": evidence.limit}
    if result.probe is not None:
        row |= {"probe_seconds": result.probe.seconds, "probe_error_seconds": result.probe.standard_error}
    if result.rounds:
        row |= {"seconds": sorted(result.rounds)[len(result.rounds) // 2], "witnesses": timing.detail[-200:]}
    return row


def add_plan(hardware: profile.Hardware, device: Device) -> timed.Plan:
    """An addition bound by memory, 300 MB of traffic."""
    shape = (6144, 4096)
    tensors = [
        Tensor("x", "float32", shape, "in"),
        Tensor("y", "float32", shape, "in"),
        Tensor("out", "float32", shape, "out"),
    ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["x"], seed, "x")
            uniform(slot["y"], seed, "y")

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=lambda _params, inputs: {"out": inputs["x"].double() + inputs["y"].double()},
        cost=lambda _params: Cost(dram_bytes=3.0 * 4 * shape[0] * shape[1]),
    )
    tolerance = {"out": Tolerance(1e-6, 1e-6, 1e-6)}
    case = Case("add", "add", "public", "timed", {}, tolerance=tolerance)
    return timed.plan(task, case, hardware, device)


def busy_plan(hardware: profile.Hardware, device: Device) -> timed.Plan:
    """Arithmetic on 16 blocks: most of the device is idle during a call."""
    size = 16 * 1024
    tensors = [Tensor("x", "float32", (size,), "in"), Tensor("out", "float32", (size,), "out")]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["x"], seed, "x")

    def oracle(params: Params, inputs: Slot) -> Slot:  # noqa: ARG001
        values = inputs["x"].double()
        rest = torch.tensor(0.999, dtype=torch.float32).double() ** STEPS
        return {"out": values * rest + (1 - rest)}

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=oracle,
        cost=lambda _params: Cost(operations={"fp32": 2.0 * STEPS * size}),
        scalars=lambda _params: {"steps": STEPS},
    )
    tolerance = {"out": Tolerance(1e-3, 1e-3, 1e-3)}
    case = Case("busy", "busy", "public", "timed", {}, tolerance=tolerance)
    return timed.plan(task, case, hardware, device)


TASKS = {"add": add_plan, "busy": busy_plan}


if __name__ == "__main__":
    sys.exit(main())
