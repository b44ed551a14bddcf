"""Blob regions of a dialogue in the arena: a count of elements, then the elements.

The count that a candidate leaves is the only number of its that the judge takes as a length: it is copied out
once and held against the declared maximum before anything is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.contract import Verdict
from grader.judge.arena import Arena
from grader.judge.failure import CandidateFailure
from grader.judge.layout import ALIGN
from grader.messages import text
from grader.task import ITEM_BYTES, BlobRegion, Region, TensorRegion

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Placed:
    """A region: its count lies at byte `start` of the arena, its elements begin one alignment later."""

    region: BlobRegion
    start: int
    named: TensorRegion | None = None
    """What the bytes are, where they hold named tensors."""

    @property
    def data(self) -> int:
        """First byte of the elements."""
        return self.start + ALIGN

    @property
    def end(self) -> int:
        """First byte behind the region, aligned."""
        size = self.region.max_elements * ITEM_BYTES[self.region.dtype]
        return self.data + -(-size // ALIGN) * ALIGN

    def describe(self) -> dict[str, object]:
        """For the candidate."""
        region = self.region
        tensors = self.named.tensors if self.named is not None else {}
        return {
            "name": region.name,
            "dtype": region.dtype,
            "max_elements": region.max_elements,
            "direction": region.direction,
            "start": self.start,
            "data": self.data,
            "tensors": {name: [dtype, list(shape)] for name, (dtype, shape) in tensors.items()},
        }


def lay_out(regions: Sequence[Region]) -> dict[str, Placed]:
    """Place the regions one behind the other, by name."""
    placed: dict[str, Placed] = {}
    at = 0
    for region in regions:
        if isinstance(region, TensorRegion):
            placed[region.name] = Placed(region.blob, at, region)
        else:
            placed[region.name] = Placed(region, at)
        at = placed[region.name].end
    return placed


def arena_bytes(placed: Mapping[str, Placed]) -> int:
    """Bytes that they take together."""
    return max((one.end for one in placed.values()), default=0)


def clear(arena: Arena, placed: Placed) -> None:
    """Empty a region: a count of zero."""
    _count(arena, placed).zero_()


def write(arena: Arena, placed: Placed, values: "torch.Tensor") -> None:
    """Place values for the candidate, flattened. Raises ValueError for another dtype, or too many."""
    region = placed.region
    if region.direction != "to_candidate":
        raise ValueError(f"the region {region.name!r} comes from the candidate")
    if str(values.dtype) != f"torch.{region.dtype}" or values.numel() > region.max_elements:
        raise ValueError(
            f"the region {region.name!r} takes at most {region.max_elements} of {region.dtype}, "
            f"not {values.numel()} of {values.dtype}"
        )
    if values.numel():
        _elements(arena, placed, values.numel()).copy_(values.reshape(-1))
    _count(arena, placed).fill_(values.numel())


def read(arena: Arena, placed: Placed) -> "torch.Tensor":
    """A private copy of what a region holds. Raises CandidateFailure where it cannot be that."""
    import torch

    region = placed.region
    count = int.from_bytes(arena.read(placed.start, 8), "little", signed=True)
    if not 0 <= count <= region.max_elements:
        raise CandidateFailure(
            Verdict.WRONG_ANSWER,
            text("blob_size", name=region.name, count=count, limit=region.max_elements),
            alive=True,
        )
    dtype: torch.dtype = getattr(torch, region.dtype)
    if not count:
        return torch.empty(0, dtype=dtype)
    # As bytes: a copy of bools would make valid ones of whatever lies there.
    values = _elements(arena, placed, count).view(torch.uint8).clone()
    if region.dtype == "bool" and bool((values > 1).any()):
        raise CandidateFailure(Verdict.WRONG_ANSWER, text("blob_bool", name=region.name), alive=True)
    return values.view(dtype)


def held(arena: Arena, placed: Placed) -> bytes:
    """The bytes that the judge has placed in a region."""
    count = int(_count(arena, placed).item())
    return arena.read(placed.data, count * ITEM_BYTES[placed.region.dtype])


def _count(arena: Arena, placed: Placed) -> "torch.Tensor":
    import torch

    return arena.bytes()[placed.start : placed.start + 8].view(torch.int64)


def _elements(arena: Arena, placed: Placed, count: int) -> "torch.Tensor":
    import torch

    dtype: torch.dtype = getattr(torch, placed.region.dtype)
    size = count * ITEM_BYTES[placed.region.dtype]
    return arena.bytes()[placed.data : placed.data + size].view(dtype)
