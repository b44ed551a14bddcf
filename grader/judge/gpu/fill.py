"""One kernel that writes all slots of a round: inputs from their own seeds, poison, and canaries.

What is written is a table of regions. The author's `fill` only adds to it (it calls `grader.fills`, whose
functions are recorded); nothing runs on the device until the whole table is there.
"""

import functools
import hashlib
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from grader.fills import SEED_BITS
from grader.judge import poison
from grader.judge.gpu.kernels import Launch, address, processors, word
from grader.judge.layout import Placement, SlotLayout
from grader.task import ITEM_BYTES, DType, Tensor

if TYPE_CHECKING:
    import torch

Regions: TypeAlias = "np.ndarray[Any, np.dtype[np.void]]"

REGION = np.dtype(
    [
        ("address", "u8"), ("rows", "u8"), ("columns", "u8"), ("row_stride", "i8"), ("column_stride", "i8"),
        ("kind", "u8"), ("dtype", "u8"), ("first_row", "u8"), ("key0", "u8"), ("key1", "u8"),
        ("a", "f8"), ("b", "f8"), ("c", "f8"), ("word", "u8"), ("span", "u8"), ("first_tile", "u8"),
    ]
)  # fmt: skip
"""`struct Region` of kernels.cu."""
DTYPES: tuple[DType, ...] = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
CONSTANT, UNIFORM, ROWS, INTEGERS = range(4)
TILE = 4096
_GROUP_BYTES = 16
_LONG_ROW = 1 << 30
"""Bytes: longer runs of one constant are written as several rows."""
_THREADS = 256
_BLOCKS_EACH = 8
_WORD = (1 << 64) - 1


class Recorder:
    """Takes down fills as regions; implements `grader.fills.Recorder`."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def uniform(self, tensor: "torch.Tensor", seed: int, label: str, low: float, high: float) -> None:
        """Values spread evenly over [low, high]."""
        self._record(tensor, _floating(tensor), UNIFORM, seed, label, (high - low, (low + high) / 2, 0.0))

    def rows(
        self, tensor: "torch.Tensor", seed: int, label: str, exponent: float, heavy: float, outliers: float
    ) -> None:
        """Rows of random scale and offset, with outliers: see `grader.fills.rows`."""
        self._record(tensor, _floating(tensor), ROWS, seed, label, (exponent, heavy, outliers))

    def integers(self, tensor: "torch.Tensor", seed: int, label: str, low: int, high: int) -> None:
        """Integers spread evenly over [low, high]."""
        span = (high - low + 1) & _WORD
        self._record(tensor, _name(tensor), INTEGERS, seed, label, (0.0, 0.0, 0.0), low & _WORD, span)

    def take(self) -> Regions:
        """All regions so far, which are forgotten."""
        taken = np.array(self._rows, REGION)
        self._rows = []
        return taken

    def _record(
        self,
        tensor: "torch.Tensor",
        dtype: str,
        kind: int,
        seed: int,
        label: str,
        values: tuple[float, float, float],
        low: int = 0,
        span: int = 0,
    ) -> None:
        if tensor.numel() == 0:
            return
        if not 0 <= seed < 1 << SEED_BITS:
            raise ValueError(f"a seed is an integer of {SEED_BITS} bits, not {seed}")
        digest = hashlib.blake2b(label.encode(), key=seed.to_bytes(16, "little"), digest_size=16).digest()
        key = (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))
        code, item, base = DTYPES.index(dtype), tensor.element_size(), tensor.data_ptr()
        shape, strides = tensor.shape, tensor.stride()
        columns, column_stride = (shape[-1], strides[-1]) if shape else (1, 1)
        for start, first_row, rows, row_stride in _matrices(tuple(shape[:-1]), strides[:-1]):
            self._rows.append(
                (
                    base + start * item, rows, columns, row_stride, column_stride,
                    kind, code, first_row, *key, *values, low, span, 0,
                )
            )  # fmt: skip


def poison_and_canaries(slots: Sequence[SlotLayout], base: int) -> tuple[Regions, Regions]:
    """(regions to be written first, regions in no order) of slots in memory that starts at address `base`.

    First come canaries in the gaps of strided tensors, which are written together with the tensors.
    """
    plan = slots[0].plan
    canary = poison.CANARY * 0x0101010101010101
    before, after = [], []
    for placement in plan.placements:
        if placement.tensor.span_bytes != placement.tensor.elements * placement.tensor.item_bytes:
            before += _run(placement.start, placement.end, canary)
        if placement.tensor.role == "out":
            after += _poisoned(placement)
    for begin, end in plan.guards:
        after += _run(begin, end, canary)
    return _repeated(before, slots, base), _repeated(after, slots, base)


class Burst:
    """A table on the device and the kernel that writes it; `queue` does no other work."""

    def __init__(self, parts: Sequence[Regions]) -> None:
        """Parts are written one after the other, the regions within a part in no order."""
        import torch

        self._tables, self._launches = [], []
        for part in parts:
            if len(part) == 0:
                continue
            tiles = _number(part)
            table = torch.from_numpy(part.view(np.uint8)).cuda()
            self._tables.append(table)
            arguments = [address(table.data_ptr()), word(len(part)), address(tiles)]
            blocks = min(_BLOCKS_EACH * processors(), tiles)
            self._launches.append(Launch("fill", blocks, _THREADS, arguments))

    def queue(self) -> None:
        """Queue the kernels on the current stream."""
        for launch in self._launches:
            launch.queue()


def _number(part: Regions) -> int:
    """Set `first_tile` of every region; the number of tiles of all."""
    items = np.array([ITEM_BYTES[name] for name in DTYPES], np.uint64)[part["dtype"]]
    groups = -(-(part["columns"] * items).astype(np.int64) // _GROUP_BYTES) * part["rows"].astype(np.int64)
    tiles = np.maximum(1, -(-groups // TILE))
    part["first_tile"] = np.cumsum(tiles) - tiles
    return int(tiles.sum())


@functools.lru_cache(64)
def _matrices(shape: tuple[int, ...], strides: tuple[int, ...]) -> Sequence[tuple[int, int, int, int]]:
    """The rows of a tensor as matrices: (first element, first row, rows, row stride) of each."""
    if not shape:
        return [(0, 0, 1, 0)]
    merged, rows = len(shape) - 1, shape[-1]
    while merged > 0 and strides[merged - 1] == strides[merged] * shape[merged]:
        merged -= 1
        rows *= shape[merged]
    return [
        (sum(i * stride for i, stride in zip(index, strides, strict=False)), number * rows, rows, strides[-1])
        for number, index in enumerate(product(*(range(size) for size in shape[:merged])))
    ]


def _poisoned(placement: Placement) -> list[tuple[Any, ...]]:
    tensor = placement.tensor
    if tensor.elements == 0:
        return []
    item = tensor.item_bytes
    repeated = int.from_bytes(poison.WORD[tensor.dtype].to_bytes(item, "little") * (8 // item), "little")
    if tensor.span_bytes == tensor.elements * item:
        return _run(placement.start, placement.end, repeated)
    return _strided(tensor, placement.start, repeated)


def _strided(tensor: Tensor, start: int, repeated: int) -> list[tuple[Any, ...]]:
    shape, strides = tensor.shape, tensor.effective_strides
    begin, item = start + tensor.offset * tensor.item_bytes, tensor.item_bytes
    code = DTYPES.index(tensor.dtype)
    return [
        _constant(begin + at * item, rows, shape[-1], row_stride, strides[-1], code, repeated)
        for at, _, rows, row_stride in _matrices(shape[:-1], strides[:-1])
    ]


def _run(begin: int, end: int, repeated: int) -> list[tuple[Any, ...]]:
    """A run of bytes that starts at a multiple of 16; its end need not be one."""
    code = DTYPES.index("uint8")
    return [
        _constant(at, 1, min(_LONG_ROW, end - at), 0, 1, code, repeated)
        for at in range(begin, end, _LONG_ROW)
    ]


def _constant(
    start: int, rows: int, columns: int, row_stride: int, column_stride: int, code: int, repeated: int
) -> tuple[Any, ...]:
    return (
        start, rows, columns, row_stride, column_stride,
        CONSTANT, code, 0, 0, 0, 0.0, 0.0, 0.0, repeated, 0, 0,
    )  # fmt: skip


def _repeated(rows: list[tuple[Any, ...]], slots: Sequence[SlotLayout], base: int) -> Regions:
    """The regions of one slot, whose addresses are bytes of it, for all slots; slot by slot."""
    one = np.array(rows, REGION)
    every = np.tile(one, len(slots)).reshape(len(slots), len(one))
    starts = np.array([base + slot.start for slot in slots], np.uint64)
    every["address"] += starts[:, None]
    return every.reshape(-1)


def _name(tensor: "torch.Tensor") -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _floating(tensor: "torch.Tensor") -> str:
    if not tensor.is_floating_point():
        raise TypeError(f"needs a floating-point tensor, not {tensor.dtype}")
    return _name(tensor)
