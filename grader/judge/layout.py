"""Where the tensors of each slot lie in the arena: computed by the judge alone, from the task's own types.

Slots follow each other at a constant stride. Within a slot every allocation is aligned to `ALIGN` bytes and
has at least `GUARD` bytes of canary before and after it, so that a write past an end is seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.task import Tensor

ALIGN = 256
"""Bytes; four cache lines, and more than any vector unit asks for."""
GUARD = 256
MAX_DIMENSIONS = 8
"""What `solmark.h` and the candidate's harness take."""


class LayoutError(ValueError):
    """The task's tensors cannot be placed: the assignment's fault."""


@dataclass(frozen=True)
class Placement:
    """One tensor and the byte of its slot at which its allocation starts (its `offset` is not included)."""

    tensor: Tensor
    start: int

    @property
    def end(self) -> int:
        """First byte behind the allocation."""
        return self.start + self.tensor.span_bytes


@dataclass(frozen=True)
class SlotPlan:
    """What all slots of one case have in common."""

    placements: tuple[Placement, ...]
    stride: int
    """Bytes from one slot to the next, guards included."""

    @cached_property
    def guards(self) -> tuple[tuple[int, int], ...]:
        """[begin, end) byte ranges of a slot that no tensor covers."""
        ranges = []
        at = 0
        for placement in sorted(self.placements, key=lambda placement: placement.start):
            if placement.start > at:
                ranges.append((at, placement.start))
            at = max(at, placement.end)
        ranges.append((at, self.stride))
        return tuple(ranges)


@dataclass(frozen=True)
class SlotLayout:
    """One slot: `start` is its first byte in the arena."""

    index: int
    start: int
    plan: SlotPlan

    @property
    def end(self) -> int:
        """First byte behind the slot."""
        return self.start + self.plan.stride


def plan(tensors: Sequence[Tensor], count: int, *, start: int = 0) -> tuple[SlotLayout, ...]:
    """Lay out `count` slots from byte `start` (a multiple of ALIGN) on. Raises LayoutError."""
    if count < 1 or start < 0 or start % ALIGN:
        raise LayoutError(
            f"{count} slots from byte {start}: a positive count and an aligned start are needed"
        )
    common = _slot_plan(tensors)
    return tuple(SlotLayout(i, start + i * common.stride, common) for i in range(count))


def slot_bytes(tensors: Sequence[Tensor]) -> int:
    """Bytes of one slot, guards included."""
    return _slot_plan(tensors).stride


def _slot_plan(tensors: Sequence[Tensor]) -> SlotPlan:
    placements: dict[str, Placement] = {}
    at = GUARD
    for tensor in tensors:
        _check(tensor, placements)
        if tensor.alias_of is not None:
            owner = placements.get(tensor.alias_of)
            if owner is None:
                raise LayoutError(
                    f"{tensor.name}: alias_of names {tensor.alias_of!r}, which must come before it"
                )
            placements[tensor.name] = Placement(tensor, owner.start)
            if tensor.span_bytes > owner.tensor.span_bytes:
                raise LayoutError(
                    f"{tensor.name}: reaches beyond {tensor.alias_of!r}, whose memory it shares"
                )
            continue
        placements[tensor.name] = Placement(tensor, at)
        at = _align(at + tensor.span_bytes + GUARD)
    return SlotPlan(tuple(placements.values()), at)


def _check(tensor: Tensor, placed: dict[str, Placement]) -> None:
    if tensor.name in placed:
        raise LayoutError(f"two tensors are named {tensor.name!r}")
    if len(tensor.shape) > MAX_DIMENSIONS:
        raise LayoutError(
            f"{tensor.name}: {len(tensor.shape)} dimensions; at most {MAX_DIMENSIONS} are taken"
        )
    if min(tensor.shape, default=0) < 0 or tensor.offset < 0 or min(tensor.effective_strides, default=0) < 0:
        raise LayoutError(f"{tensor.name}: shape, strides and offset must not be negative")
    if tensor.strides is not None and len(tensor.strides) != len(tensor.shape):
        raise LayoutError(f"{tensor.name}: {len(tensor.strides)} strides for {len(tensor.shape)} dimensions")


def _align(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
