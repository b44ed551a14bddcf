"""The shared memory as the candidate sees it, and the tensors that the judge has placed in it."""

import ctypes
import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

DESCRIPTOR = 5


@dataclass(frozen=True)
class Placed:
    """One tensor of every slot; `start` is the byte of the slot at which its allocation begins."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    span: int
    role: str
    start: int


@dataclass(frozen=True)
class Slots:
    """All slots of one case."""

    start: int
    stride: int
    count: int
    tensors: tuple[Placed, ...]
    scalars: tuple[tuple[str, bool | int | float], ...]
    link: dict[str, Any] | None = None
    """What is queued between the calls of a round: see link.py."""

    @classmethod
    def of(cls, command: dict[str, Any]) -> "Slots":
        """From the judge's `bind` command."""
        return cls(
            command["start"],
            command["stride"],
            command["count"],
            tuple(
                Placed(**{**tensor, "shape": tuple(tensor["shape"]), "strides": tuple(tensor["strides"])})
                for tensor in command["tensors"]
            ),
            tuple((name, value) for name, value in command["scalars"]),
            command.get("link"),
        )


class Arena:
    """The whole shared memory, with its page tables filled so that no timed call pays for a first touch."""

    def __init__(self) -> None:
        self.size = os.fstat(DESCRIPTOR).st_size
        self.memory = mmap.mmap(DESCRIPTOR, self.size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def arguments(self, slots: Slots) -> "list[tuple[torch.Tensor, ...]]":
        """For each slot its tensors, each with a storage of its own."""
        return [
            tuple(
                self._tensor(slots.start + index * slots.stride + placed.start, placed)
                for placed in slots.tensors
            )
            for index in range(slots.count)
        ]

    def _tensor(self, start: int, placed: Placed) -> "torch.Tensor":
        import torch

        dtype: torch.dtype = getattr(torch, placed.dtype)
        if 0 in placed.shape:
            return torch.empty_strided(placed.shape, placed.strides, dtype=dtype)
        elements = placed.span // dtype.itemsize
        flat = torch.frombuffer(self.memory, dtype=dtype, count=elements, offset=start)
        return flat.as_strided(placed.shape, placed.strides, placed.offset)
