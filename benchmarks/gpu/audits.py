"""The audits of a device and its link, alone: what is right passes, what is wrong is seen; for `steps.py`."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.fills import rows, uniform
from grader.judge import layout
from grader.judge.failure import CandidateFailure
from grader.judge.gpu.arena import DeviceArena
from grader.judge.gpu.device import llc_bytes
from grader.judge.gpu.fill import Burst
from grader.judge.gpu.link import KEY_BYTES, Link
from grader.judge.gpu.ring import DeviceRing
from grader.task import Case, Cost, FunctionTask, Params, Product, Slot, Tensor, Tolerance

Row = dict[str, Any]


def check_row_audit() -> list[Row]:
    """Rows of every slot: right ones pass; a wrong call, one row in fifty, a changed input are seen."""
    tensors = [
        Tensor("x", "float16", (1000, 333), "in"),
        Tensor("w", "float32", (333,), "in"),
        Tensor("y", "float16", (1000, 333), "out"),
    ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            rows(slot["x"], seed, "x")
            uniform(slot["w"], seed, "w")

    def oracle(params: Params, inputs: Slot) -> Slot:  # noqa: ARG001
        return {"y": inputs["x"].double() * inputs["w"].double()}

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=oracle,
        cost=lambda _params: Cost(dram_bytes=8),
        rowwise=True,
    )
    case = Case("rows", "rows", "public", "timed", {}, tolerance={"y": Tolerance(1e-3, 1e-3, 1e-2)})
    spoil: dict[str, Callable[[Slot], object]] = {
        "nothing": lambda _slot: None,
        "a-call": lambda slot: slot["y"].copy_(slot["x"]),
        "one-row-in-fifty-of-all": lambda slot: slot["y"][7::50].zero_(),
        "an-input": lambda slot: slot["x"].zero_(),
    }
    return _audited(task, case, tensors, spoil, lambda slot: slot["y"].copy_(slot["x"].double() * slot["w"]))


def check_products() -> list[Row]:
    """Freivalds's test: what `judge.md` says must be seen is seen; what is right passes."""
    shape = (384, 512)
    tensors = [
        Tensor("a", "bfloat16", shape, "in"),
        Tensor("b", "bfloat16", (640, 512), "in"),
        Tensor("c", "bfloat16", (384, 640), "out"),
    ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["a"], seed, "a")
            uniform(slot["b"], seed, "b")

    def exact(slot: Slot) -> torch.Tensor:
        return slot["a"].double() @ slot["b"].double().T

    def half_of_int8(slot: Slot) -> None:
        a = slot["a"].double()
        step = a[:, :256].abs().amax() / 127
        a[:, :256] = (a[:, :256] / step).round() * step
        slot["c"].copy_(a @ slot["b"].double().T)

    def tile_of_less(slot: Slot) -> None:
        part = slot["a"][:64, ::2].double() @ slot["b"][:64, ::2].double().T
        slot["c"][:64, :64] = 2 * part

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=lambda _params, inputs: {"c": exact(inputs)},
        cost=lambda _params: Cost(dram_bytes=8),
        product=Product("a", "b", "c", transposed=True),
    )
    case = Case("product", "product", "public", "timed", {}, tolerance={"c": Tolerance(3e-3, 2.0e-3, 0.02)})
    spoil: dict[str, Callable[[Slot], object]] = {
        "nothing": lambda _slot: None,
        "one-row": lambda slot: slot["c"][300].zero_(),
        "one-tile-of-half-of-k": tile_of_less,
        "int8-on-half-of-k": half_of_int8,
    }
    return _audited(task, case, tensors, spoil, lambda slot: slot["c"].copy_(exact(slot)))


def _audited(
    task: FunctionTask,
    case: Case,
    tensors: Sequence[Tensor],
    spoil: dict[str, Callable[[Slot], object]],
    solve: Callable[[Slot], object],
) -> list[Row]:
    """A round of 60 slots with right outputs, of which one (or each, by name) is then spoilt in a way."""
    count = 60
    slots = layout.plan(tensors, count)
    arena = DeviceArena(slots[-1].end)
    ring = DeviceRing(arena, slots, task, case, llc_bytes())
    result = []
    for name, spoils in spoil.items():
        ring.prepare(count)
        ring.queue()
        assert ring.watchdog is not None
        ring.watchdog.await_start(5.0)
        ring.watchdog.stop()
        for slot in slots:
            solve(arena.tensors(slot))
        for slot in slots if name.endswith("of-all") else slots[17:18]:
            spoils(arena.tensors(slot))
        ring.gather()
        begin = time.monotonic()
        try:
            audited, comparisons = ring.audit_round(count, None)
            passed = all(comparison.passed for comparison in comparisons)
        except CandidateFailure as failure:
            audited, passed = 0, False
            print(name, failure.text.en)
        seconds = time.monotonic() - begin
        held = passed is (name == "nothing") and (audited == count or not passed)
        result.append({"what": name, "held": held, "audited_slots": audited, "audit_seconds": seconds})
    ring.close()
    arena.close()
    return result


def check_link() -> list[Row]:
    """The link's sums depend on every byte, its signs on sum and key; flipping twice gives back what was."""
    tensors = [Tensor("x", "bfloat16", (33, 101), "in"), Tensor("y", "float16", (33, 77), "out")]
    slots = layout.plan(tensors, 3)
    arena = DeviceArena(slots[-1].end + KEY_BYTES)
    link = Link(slots, slots[-1].end, arena.bytes().data_ptr())
    Burst([link.key()]).queue()
    views = [arena.tensors(slot) for slot in slots]
    for view in views:
        for tensor in view.values():
            tensor.copy_(torch.randn(tensor.shape, device="cuda"))
    states = link.states(3)
    once, before = views[1]["x"].clone(), views[1]["x"].clone()
    link.flip({"x": once}, states, 1)
    twice = once.clone()
    link.flip({"x": twice}, states, 1)
    places = [0, 1, 33 * 77 * 2 - 1, 2500]
    changed = []
    for place in places:
        byte = arena.bytes()[slots[0].start + slots[0].plan.placements[1].start + place]
        byte ^= 1
        changed.append(bool((link.states(3) != states).tolist() == [True, False, False]))
        byte ^= 1
    flips = (once != before).double().mean().item()
    other = views[2]["x"].clone()
    link.flip({"x": other}, states, 2)
    Burst([link.key()]).queue()
    held = {
        "repeats": bool((link.states(3) != states).all()),
        "every-byte": all(changed),
        "back": bool((twice == before).all()),
        "half": 0.45 < flips < 0.55,
        "magnitude": bool((once.abs() == before.abs()).all()),
        "other-signs": 0.45 < ((other != views[2]["x"]) == (once != before)).double().mean().item() < 0.55,
    }
    arena.close()
    failed = ", ".join(key for key, value in held.items() if not value)
    return [{"what": "sums-and-signs", "held": not failed, "failed": failed, "flipped_share": flips}]
