"""Memory that slots lie in: the judge's views into any such, and a sealed memfd shared with a candidate.

The seals come before the candidate does: it can neither shrink the file under the judge (SIGBUS) nor forbid
the judge to write. What lies in it is the candidate's to change at any time, so whatever decides a verdict
is copied out first.
"""

import builtins
import contextlib
import fcntl
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grader import allocator
from grader.judge import poison
from grader.judge.layout import Placement, SlotLayout
from grader.task import ITEM_BYTES, Tensor

if TYPE_CHECKING:
    import torch

PAGE = 4096
_MADV_POPULATE_WRITE = 23
"""Linux's, since 5.14; the `mmap` module does not name it."""


class Memory:
    """Tensors, poison and canaries in memory laid out by `layout.plan`; subclasses say where it lies."""

    def bytes(self) -> "torch.Tensor":
        """All of it as uint8, on the device where it lies."""
        raise NotImplementedError

    def tensors(self, slot: SlotLayout) -> "dict[str, torch.Tensor]":
        """Views of all tensors of a slot, by name."""
        return {
            placement.tensor.name: self.stacked([slot], placement)[0] for placement in slot.plan.placements
        }

    def stacked(self, slots: Sequence[SlotLayout], placement: Placement) -> "torch.Tensor":
        """One tensor over consecutive slots as a view [len(slots), *shape]."""
        import torch

        tensor = placement.tensor
        dtype: torch.dtype = getattr(torch, tensor.dtype)
        if tensor.elements == 0:
            return torch.empty((len(slots), *tensor.shape), dtype=dtype, device=self.bytes().device)
        item = ITEM_BYTES[tensor.dtype]
        return (
            self.bytes()
            .view(dtype)
            .as_strided(
                (len(slots), *tensor.shape),
                (slots[0].plan.stride // item, *tensor.effective_strides),
                (slots[0].start + placement.start) // item + tensor.offset,
            )
        )

    def prepare(self, slots: Sequence[SlotLayout]) -> None:
        """Write canaries into every gap of consecutive slots and poison into every output.

        To be called before inputs are filled: the gaps between the elements of a strided tensor are written
        together with it.
        """
        for begin, end in slots[0].plan.guards:
            self._span(slots, begin, end).fill_(poison.CANARY)
        for placement in slots[0].plan.placements:
            tensor = placement.tensor
            if _has_gaps(tensor):
                self._span(slots, placement.start, placement.end).fill_(poison.CANARY)
            if tensor.role == "out":
                self.poison(slots, placement)

    def poison(self, slots: Sequence[SlotLayout], placement: Placement) -> None:
        """Poison one tensor in consecutive slots."""
        import torch

        tensor = placement.tensor
        if tensor.elements == 0:
            return
        if not _has_gaps(tensor):
            span = self._span(slots, placement.start, placement.end)
            if len(slots) == 1:
                poison.fill(span[0], tensor.dtype)
            else:
                integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
                span.view(integer[ITEM_BYTES[tensor.dtype]]).fill_(poison.WORD[tensor.dtype])
            return
        word = torch.empty(ITEM_BYTES[tensor.dtype], dtype=torch.uint8)
        poison.fill(word, tensor.dtype)
        bits = _bits(self.stacked(slots, placement))
        bits.copy_(word.view(bits.dtype)[0])

    def disturbed(self, slots: Sequence[SlotLayout]) -> Iterator[tuple[SlotLayout, str]]:
        """Slots in which a canary has changed, each with the name of the tensor beside it."""
        for begin, end in slots[0].plan.guards:
            wrong = (self._span(slots, begin, end) != poison.CANARY).any(1)
            for index in wrong.nonzero().flatten().tolist():
                yield slots[index], _neighbour(slots[index], begin)
        for placement in slots[0].plan.placements:
            if not _has_gaps(placement.tensor) or placement.tensor.alias_of is not None:
                continue
            gaps = _gap_bytes(placement.tensor).to(self.bytes().device)
            span = self._span(slots, placement.start, placement.end)
            wrong = ((span != poison.CANARY) & gaps).any(1)
            for index in wrong.nonzero().flatten().tolist():
                yield slots[index], placement.tensor.name

    def _span(self, slots: Sequence[SlotLayout], begin: int, end: int) -> "torch.Tensor":
        """Bytes [begin, end) of consecutive slots as a view [len(slots), end - begin]."""
        stride = slots[0].plan.stride
        return self.bytes().as_strided((len(slots), end - begin), (stride, 1), slots[0].start + begin)


class Arena(Memory):
    """`size` bytes of shared memory, zeroed, prefaulted, and locked where the system allows it."""

    def __init__(self, size: int) -> None:
        self.size = max(PAGE, -(-size // PAGE) * PAGE)
        self.descriptor = os.memfd_create("solmark-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, self.size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
            self._map: mmap.mmap | None = self._mapping()
        except BaseException:
            os.close(self.descriptor)
            raise
        self._bytes: torch.Tensor | None = None

    def _mapping(self) -> mmap.mmap:
        """All of it, in huge pages where the system gives them to shared memory.

        With small ones every session has other conflicts in the caches for as long as it lasts, and its times
        differ from the next one's (docs/decisions/0017).
        """
        mapping = mmap.mmap(self.descriptor, self.size, flags=mmap.MAP_SHARED)
        with contextlib.suppress(OSError):  # A kernel without huge pages.
            mapping.madvise(mmap.MADV_HUGEPAGE)
        try:
            mapping.madvise(_MADV_POPULATE_WRITE)
        except OSError:  # An older kernel: touched one by one.
            for start in range(0, self.size, PAGE):
                mapping[start] = 0
        allocator.lock(mapping)
        return mapping

    def bytes(self) -> "torch.Tensor":
        """The whole arena as uint8."""
        import torch

        if self._bytes is None:
            if self._map is None:
                raise ValueError("the arena is closed")
            self._bytes = torch.frombuffer(self._map, dtype=torch.uint8)
        return self._bytes

    def read(self, start: int, size: int) -> builtins.bytes:
        """A copy of `size` bytes from `start` on."""
        if self._map is None or not 0 <= start <= start + size <= self.size:
            raise ValueError(f"{size} bytes from {start} do not lie in an arena of {self.size}")
        return self._map[start : start + size]

    def close(self) -> None:
        """Give the memory back; views that still live keep it until they go.

        It is never unmapped under them: torch does not keep the buffer locked that it reads from.
        """
        if self.descriptor < 0:
            return
        os.close(self.descriptor)
        self.descriptor = -1
        self._bytes = self._map = None


def snapshot(views: "Mapping[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
    """Private contiguous copies, taken before anything is decided from them."""
    import torch

    return {name: view.clone(memory_format=torch.contiguous_format) for name, view in views.items()}


def same_bits(left: "torch.Tensor", right: "torch.Tensor") -> bool:
    """Whether two tensors of one shape and dtype are equal bit by bit (NaN equals itself)."""
    import torch

    return bool(torch.equal(_bits(left), _bits(right)))


def _bits(values: "torch.Tensor") -> "torch.Tensor":
    import torch

    return values.view(
        {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()]
    )


def _has_gaps(tensor: Tensor) -> bool:
    """Whether the allocation has bytes that no element covers."""
    return tensor.span_bytes != tensor.elements * tensor.item_bytes


def _gap_bytes(tensor: Tensor) -> "torch.Tensor":
    """For each byte of the allocation, whether no element covers it."""
    import torch

    gaps = torch.ones(tensor.span_bytes // tensor.item_bytes, dtype=torch.bool)
    if tensor.elements:
        gaps.as_strided(tensor.shape, tensor.effective_strides, tensor.offset).fill_(value=False)
    return gaps.repeat_interleave(tensor.item_bytes)


def _neighbour(slot: SlotLayout, begin: int) -> str:
    """The tensor that ends where a guard begins, or the first one."""
    names = [placement.tensor.name for placement in slot.plan.placements if placement.end == begin]
    return names[0] if names else slot.plan.placements[0].tensor.name
