"""What is taken of every slot before the clock stops: elements at secret places, into private memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grader.judge import poison
from grader.judge.gpu.kernels import Launch, address, processors, word
from grader.judge.layout import SlotLayout

if TYPE_CHECKING:
    import torch

PLACES = 256
"""Most elements of one output of a slot; fewer where there are many slots."""
_ALL = 1 << 20
_LEAST = 16
_THREADS = 256
_NOT_PLAIN = -1
"""In place of a poison word, none of which is negative."""


class Gather:
    """Elements of all outputs of the first slots at places drawn anew; the same places in every slot."""

    def __init__(self, slots: Sequence[SlotLayout], base: int) -> None:
        """`base`: address of the memory that the slots lie in."""
        import torch

        random = np.random.default_rng()  # Seeded by the system: torch's own generator has fixed seeds.
        outputs = [p for p in slots[0].plan.placements if p.tensor.role != "in" and p.tensor.elements]
        each = max(_LEAST, min(PLACES, _ALL // max(1, len(slots) * len(outputs))))
        offsets, items, self._poison = [], [], []
        for placement in outputs:
            tensor = placement.tensor
            flat = random.integers(tensor.elements, size=min(each, tensor.elements))
            index = np.unravel_index(flat, tensor.shape) if tensor.shape else ()
            at = np.full(len(flat), tensor.offset, np.int64)
            for axis, stride in zip(index, tensor.effective_strides, strict=True):
                at += axis * stride
            offsets.append(placement.start + at * tensor.item_bytes)
            items.append(np.full(len(flat), tensor.item_bytes, np.int32))
            bounded = tensor.role == "out" and tensor.count is None
            self._poison.append(
                np.full(len(flat), poison.WORD[tensor.dtype] if bounded else _NOT_PLAIN, np.int64)
            )
        self._slots = len(slots)
        self._words = np.concatenate(self._poison) if outputs else np.empty(0, np.int64)
        self.places = len(self._words)
        self._offsets = torch.from_numpy(np.concatenate(offsets) if outputs else np.empty(0, np.int64)).cuda()
        self._items = torch.from_numpy(np.concatenate(items) if outputs else np.empty(0, np.int32)).cuda()
        self._base = base + slots[0].start
        self._stride = slots[0].plan.stride

    def into(self, taken: "torch.Tensor") -> Launch:
        """A launch that copies into `taken` (int64 [slots, places], on the device), the last slots first."""
        arguments = [
            address(self._base),
            address(self._stride),
            word(self._slots),
            address(self._offsets.data_ptr()),
            address(self._items.data_ptr()),
            word(self.places),
            address(taken.data_ptr()),
        ]
        total = max(1, self._slots * self.places)
        blocks = min(-(-total // _THREADS), 8 * processors())
        return Launch("gather", blocks, _THREADS, arguments)

    def empty(self) -> "torch.Tensor":
        """Room for what is taken."""
        import torch

        return torch.zeros(self._slots, max(1, self.places), dtype=torch.int64, device="cuda")

    def poisoned(self, taken: "torch.Tensor") -> "torch.Tensor":
        """Where elements of plain outputs still hold their poison: bool [slots, places]."""
        import torch

        words = torch.from_numpy(self._words).cuda()
        return (taken[:, : self.places] == words) & self.plain

    @property
    def plain(self) -> "torch.Tensor":
        """Which places belong to plain outputs (not inout, not of unknown size): bool [places]."""
        import torch

        return torch.from_numpy(self._words != _NOT_PLAIN).cuda()
