"""Every step of the judge on a device, alone: does it do what it says, and how fast?

Run on a machine with a CUDA device, torch and cuda-bindings:

    python -m benchmarks.gpu.steps
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import results_schema
from benchmarks.gpu import audits, indices
from grader.fills import integers, recording, rows, uniform
from grader.hardware import profile
from grader.judge import environment, layout
from grader.judge.gpu.arena import DeviceArena
from grader.judge.gpu.device import Device, llc_bytes
from grader.judge.gpu.fill import Burst, Recorder, poison_and_canaries
from grader.judge.gpu.ring import DeviceRing
from grader.judge.gpu.rows import sums
from grader.judge.gpu.watchdog import GAP_CYCLES
from grader.task import Case, Cost, DType, FunctionTask, Params, Slot, Tensor

OUTPUT = results_schema.RESULTS / "steps.h200.json"
SEED = 0x0123456789ABCDEF0123456789ABCDEF
FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
ROUNDS = 30
Row = dict[str, Any]


def main() -> int:
    """Try all, write the results; 0 if everything held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    device = Device.open(arguments.hardware)
    hardware = profile.load(arguments.hardware)
    found: list[Row] = []
    for name, check in {"arming": lambda: indices.check_arming(device, hardware), **CHECKS}.items():
        for row in check():
            found.append({"id": f"{name}/{row.pop('what')}", **row})
            print(found[-1], flush=True)
    header = results_schema.header(
        "python -m benchmarks.gpu.steps",
        device.name,
        device.driver,
        environment.judge_version(),
    )
    header["environment"] |= {"device_judge": environment.device_judge()}
    results = results_schema.ResultsFile.model_validate({**header, "rows": found})
    results_schema.write(arguments.output, results)
    device.close()
    return 0 if all(row.get("held", True) for row in found) else 1


def filled(action: Callable[[], None]) -> None:
    """What `action` asks of `grader.fills`, done."""
    recorder = Recorder()
    with recording(recorder):
        action()
    Burst([recorder.take()]).queue()
    torch.cuda.synchronize()


def check_floats() -> list[Row]:
    """Values of every floating-point type: spread, dependence on seed and label, strides."""
    result = []
    for name in FLOATS:
        dtype = getattr(torch, name)
        shape = (257, 1031)
        one, two, other, label = (torch.zeros(shape, dtype=dtype, device="cuda") for _ in range(4))
        wide = torch.zeros(257, 1040, dtype=dtype, device="cuda")
        strided = wide[:, 3:1034]

        def fill(
            one: torch.Tensor = one,
            two: torch.Tensor = two,
            other: torch.Tensor = other,
            label: torch.Tensor = label,
            strided: torch.Tensor = strided,
        ) -> None:
            uniform(one, SEED, "x", -1.0, 3.0)
            uniform(two, SEED, "x", -1.0, 3.0)
            uniform(other, SEED + 1, "x", -1.0, 3.0)
            uniform(label, SEED, "y", -1.0, 3.0)
            uniform(strided, SEED, "x", -1.0, 3.0)

        filled(fill)
        values, outside = one.double(), wide.double()
        # Of a type with few values many agree by chance.
        chance = {"float8_e4m3fn": 0.1, "float8_e5m2": 0.2}.get(name, 0.02)
        held = {
            "repeats": bool((one.double() == two.double()).all()),
            "seed": float((values == other.double()).double().mean()) < chance,
            "label": float((values == label.double()).double().mean()) < chance,
            "strides": bool((strided.double() == values).all()),
            "gaps": float(outside[:, :3].abs().sum() + outside[:, 1034:].abs().sum()) == 0.0,
            "mean": abs(float(values.mean()) - 1.0) < 0.01,
            "spread": abs(float(values.std()) - 4 / 12**0.5) < 0.01,
            "range": float(values.min()) >= -1.01 and float(values.max()) <= 3.01,
            # Of neighbours in a row and in a column: shared bits would show.
            "rows": abs(_correlation(values[:, 1:], values[:, :-1])) < 0.01,
            "columns": abs(_correlation(values[1:], values[:-1])) < 0.01,
        }
        failed = ", ".join(key for key, value in held.items() if not value)
        result.append({"what": name, "held": not failed, "failed": failed})
    return result


def check_rows() -> list[Row]:
    """Scale, offset, heavy rows and outliers."""
    values = torch.zeros(8192, 4096, dtype=torch.float32, device="cuda")
    filled(lambda: rows(values, SEED, "x"))
    middle = values.double().median(1).values
    centred = (values.double() - middle[:, None]).abs()
    scale = centred.quantile(0.5, 1) * 2
    largest = torch.log2(scale)
    outliers = (centred > 1.01 * centred.quantile(0.999, 1)[:, None]).double().mean()
    held = {
        "scales": -4.2 < float(largest.min()) < -3.5 and 3.5 < float(largest.max()) < 7.2,
        "heavy": 0.0 < float((largest > 4.1).double().mean()) < 1 / 16,
        "outliers": 0.5 / 4096 < float(outliers) < 1.5 / 4096,
        "bounded": float(values.abs().max()) <= 2**5 * 8 * 16,
    }
    failed = ", ".join(key for key, value in held.items() if not value)
    return [{"what": "float32", "held": not failed, "failed": failed, "outlier_share": float(outliers)}]


def check_integers() -> list[Row]:
    """Ranges of integers, ends included."""
    result = []
    cases: Sequence[tuple[str, int, int]] = (
        ("int64", -(1 << 63), (1 << 63) - 1),
        ("int64", 5, 9),
        ("int32", -7, 7),
        ("int16", 0, 999),
        ("int8", -128, 127),
        ("uint8", 0, 255),
        ("bool", 0, 1),
    )
    for name, low, high in cases:
        values = torch.zeros(100, 1001, dtype=getattr(torch, name), device="cuda")
        filled(lambda values=values, low=low, high=high: integers(values, SEED, "i", low, high))  # type: ignore[misc]
        least, most = int(values.min().item()), int(values.max().item())
        tight = high - low < 1000
        held = (least, most) == (low, high) if tight else low <= least < 0 < most <= high
        result.append({"what": f"{name}-{low}-{high}", "held": held, "least": str(least), "most": str(most)})
    return result


def check_layout() -> list[Row]:
    """Poison, canaries, gaps of strided tensors: as `Memory.prepare` writes them."""
    tensors = [
        Tensor("x", "float32", (3, 5), "in", strides=(9, 1), offset=2),
        Tensor("y", "bfloat16", (4, 7), "out", strides=(11, 1)),
        Tensor("z", "int64", (2, 3), "out"),
        Tensor("b", "bool", (13,), "out"),
        Tensor("e", "float32", (0, 4), "out"),
    ]
    slots = layout.plan(tensors, 5)
    arena, same = DeviceArena(slots[-1].end), DeviceArena(slots[-1].end)
    gaps, rest = poison_and_canaries(slots, arena.bytes().data_ptr())
    Burst([gaps, rest]).queue()
    torch.cuda.synchronize()
    same.prepare(slots)
    end = slots[-1].end
    held = bool((arena.bytes()[:end] == same.bytes()[:end]).all())
    clean = not list(arena.disturbed(slots))
    arena.bytes()[slots[3].start + 5] = 0
    seen = [slot.index for slot, _ in arena.disturbed(slots)] == [3]
    arena.close()
    same.close()
    return [{"what": "poison-and-canaries", "held": held and clean and seen}]


def check_sums() -> list[Row]:
    """The kernel's row sums beside torch's."""
    result = []
    for name in ("float64", "float32", "float16", "bfloat16"):
        found = torch.randn(333, 1027, device="cuda").to(getattr(torch, name))
        expected = torch.randn(333, 1027, device="cuda", dtype=torch.float64)
        got = sums(found, expected)
        difference = found.double() - expected
        wanted = torch.stack(
            [difference.square().sum(1), expected.square().sum(1), difference.abs().amax(1)], 1
        )
        error = float(((got[:, :3] - wanted) / wanted).abs().max())
        found[5, 6], expected[7, 8] = float("nan"), float("nan")
        odd = sums(found, expected)
        held = (
            error < 1e-12 and bool(odd[5, 2].isinf()) and float(odd[7, 3]) == 1.0 and float(odd[6, 3]) == 0.0
        )
        result.append({"what": name, "held": held, "largest_error": error})
    return result


def check_ring() -> list[Row]:
    """A ring without a candidate: witnesses of a quiet device, one slot made again, rates."""
    shape, kind = (16384, 2048), "bfloat16"
    dtype: DType = "bfloat16"
    tensors = [Tensor("x", dtype, shape, "in"), Tensor("y", dtype, shape, "out")]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            rows(slot["x"], seed, "x")

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=lambda _params, inputs: {"y": inputs["x"].double()},
        cost=lambda _params: Cost(dram_bytes=8),
    )
    case = Case(id="ring", part="ring", visibility="public", role="timed", params={})
    count = 100
    slots = layout.plan(tensors, count)
    arena = DeviceArena(slots[-1].end)
    ring = DeviceRing(arena, slots, task, case, llc_bytes())
    gaps, fills, early, late, poisoned, prepare, audits = [], [], 0, 0, 0, [], []
    wrong = 0
    for number in range(ROUNDS):
        begin = time.monotonic()
        ring.prepare(count)
        prepare.append(time.monotonic() - begin)
        ring.queue()
        assert ring.watchdog is not None
        ring.watchdog.await_start(5.0)
        ring.watchdog.dwell()
        ring.watchdog.stop()
        ring.gather()
        gaps.append(float(ring.watchdog.gap()))
        fills.append(ring.fill_seconds())
        early += ring.touched_early()
        late += ring.changed_late() is not None
        poisoned += len(ring.unwritten()) == count
        views = arena.tensors(slots[number])
        views["y"].copy_(views["x"])
        torch.cuda.synchronize()
        late += ring.changed_late() != number
        begin = time.monotonic()
        (comparison,) = ring.audit([number])
        audits.append(time.monotonic() - begin)
        wrong += not comparison.passed or comparison.worst_element != 0.0
        wrong += ring.audit([number + 1])[0].passed
    ring.close()
    arena.close()
    rates = [count * slots[0].plan.stride / seconds for seconds in fills]
    held = max(gaps) < GAP_CYCLES and early == late == wrong == 0 and poisoned == ROUNDS
    return [
        {
            "what": "quiet",
            "held": held,
            "seen_early": early,
            "seen_late": late,
            "wrong": wrong,
            "gap_cycles": statistics.median(gaps),
            "gap_cycles_max": max(gaps),
            "fill_bytes_per_second": statistics.median(rates),
            "fill_bytes_per_second_min": min(rates),
            "prepare_seconds": statistics.median(prepare),
            "audit_seconds": statistics.median(audits),
            "slot": f"{kind}{list(shape)} in and out",
            "slots": count,
            "samples": {
                "gap_cycles": gaps,
                "fill_bytes_per_second": rates,
                "prepare_seconds": prepare,
                "audit_seconds": audits,
            },
        }
    ]


def _correlation(left: torch.Tensor, right: torch.Tensor) -> float:
    pair = torch.stack([left.flatten(), right.flatten()])
    return float(torch.corrcoef(pair)[0, 1])


CHECKS: dict[str, Callable[[], list[Row]]] = {
    "uniform": check_floats,
    "rows": check_rows,
    "integers": check_integers,
    "layout": check_layout,
    "sums": check_sums,
    "ring": check_ring,
    "row-audit": audits.check_row_audit,
    "products": audits.check_products,
    "link": audits.check_link,
}

if __name__ == "__main__":
    sys.exit(main())
