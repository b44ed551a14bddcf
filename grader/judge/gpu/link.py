"""Linked cases on a device: what the candidate's harness is told, and the chain made again by the judge.

A call of a few microseconds can be run beside others, or ahead of its turn, and no probe would show it. So
between the calls of a round every element of the next call's inputs may change its sign, as a keyed sum over
every byte of the last call's outputs says. The key comes with the fill. Nothing is subtracted for the link
(docs/decisions/0001): what it must cost at least is part of the bound.
"""

import base64
import functools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.judge.failure import AssignmentFault
from grader.judge.gpu.fill import CONSTANT, DTYPES, REGION, Regions
from grader.judge.gpu.kernels import Launch, address, functions, image, word
from grader.judge.layout import SlotLayout
from grader.task import Case, Cost, Tensor

if TYPE_CHECKING:
    import torch

SOURCE = Path(__file__).with_name("link.cu")
KEY_BYTES = 256
"""Room for the key behind the last slot; 16 of them are used."""
_FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_THREADS = 256
_BLOCKS = 64


def check(tensors: Sequence[Tensor], case: Case) -> None:
    """Raise AssignmentFault unless there are contiguous inputs with signs, and contiguous outputs."""
    if not flipped(tensors):
        raise AssignmentFault("linked", f"task.py: case {case.id!r} is linked, but has no input with a sign")
    for tensor in tensors:
        whole = tensor.span_bytes == tensor.elements * tensor.item_bytes
        if tensor.role == "inout" or tensor.alias_of is not None or not whole:
            raise AssignmentFault(
                "linked",
                f"task.py: case {case.id!r} is linked: {tensor.name!r} must be contiguous, in or out",
            )


def flipped(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The inputs whose signs a link flips."""
    return [t for t in tensors if t.role == "in" and t.dtype in _FLOATS and t.elements]


def cost(own: Cost, tensors: Sequence[Tensor]) -> Cost:
    """The cost of a call with its link: flipped inputs are written once, and one more step depends on all."""
    written = sum(tensor.span_bytes for tensor in flipped(tensors))
    return replace(own, dram_bytes=own.dram_bytes + written, steps=own.steps + 1)


class Link:
    """The chain of one ring, whose key lies at byte `key` of the arena (`base`: the arena's address)."""

    def __init__(self, slots: Sequence[SlotLayout], key: int, base: int) -> None:
        self._slots, self._key, self._base = slots, key, base
        placements = slots[0].plan.placements
        names = {tensor.name for tensor in flipped([p.tensor for p in placements])}
        self._inputs = [p for p in placements if p.tensor.name in names]
        self._outputs = [p for p in placements if p.tensor.role == "out" and p.tensor.elements]

    def message(self) -> Mapping[str, Any]:
        """For the harness: kernels and places, without the key."""
        return {
            "image": base64.b64encode(image(SOURCE)).decode(),
            "key": self._key,
            "outputs": [(p.start, p.tensor.span_bytes) for p in self._outputs],
            "inputs": [(p.start, p.tensor.span_bytes, p.tensor.item_bytes) for p in self._inputs],
        }

    def key(self) -> Regions:
        """A fresh key, to be written with the fill."""
        at = self._base + self._key
        rows = [
            (at + 8 * i, 1, 8, 0, 1, CONSTANT, DTYPES.index("uint8"), 0, 0, 0, 0.0, 0.0, 0.0,
             secrets.randbits(64), 0, 0)
            for i in range(2)
        ]  # fmt: skip
        return np.array(rows, REGION)

    def states(self, count: int) -> "torch.Tensor":
        """The sums over the outputs of the first `count` slots as they are now, int64 on the device."""
        import torch

        states = torch.zeros(count, dtype=torch.int64, device="cuda")
        for salt, placement in enumerate(self._outputs):
            arguments = [
                address(self._base + self._slots[0].start + placement.start),
                address(self._slots[0].plan.stride),
                address(placement.tensor.span_bytes),
                address(self._base + self._key),
                word(salt),
                address(states.data_ptr()),
            ]
            words = -(-placement.tensor.span_bytes // 8)
            blocks = max(1, min(_BLOCKS, -(-words // _THREADS)))
            Launch("fold", blocks, _THREADS, arguments, rows=count, among=_functions()).queue()
        return states

    def flip(self, inputs: "Mapping[str, torch.Tensor]", states: "torch.Tensor", index: int) -> None:
        """Flip the inputs of slot `index` (from 1 on), made again in private memory, as its link did."""
        for salt, placement in enumerate(self._inputs):
            tensor = placement.tensor
            arguments = [
                address(inputs[tensor.name].data_ptr()),
                address(tensor.span_bytes),
                word(tensor.item_bytes),
                address(self._base + self._key),
                word(salt),
                address(states.data_ptr() + 8 * (index - 1)),
            ]
            blocks = max(1, min(1024, -(-tensor.span_bytes // (8 * _THREADS))))
            Launch("flip", blocks, _THREADS, arguments, among=_functions()).queue()


@functools.cache
def _functions() -> dict[str, Any]:
    return functions(SOURCE, ("fold", "flip"))
