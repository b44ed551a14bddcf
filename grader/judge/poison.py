"""Bytes the judge leaves where a candidate must write, and where it must not.

Outputs are filled with a poison before every call: a NaN with a payload of its own for floating-point types,
a pattern for integers. What still holds it afterwards was never written. The gaps between tensors (and
between the rows of a strided one) hold canaries: whatever changes there was written out of bounds.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.task import ITEM_BYTES, DType

if TYPE_CHECKING:
    import torch

WORD: Mapping[DType, int] = {
    "float64": 0x7FFC_A5C3_5A96_E1D7,
    "float32": 0x7FC5_A5C3,
    "float16": 0x7E5A,
    "bfloat16": 0x7FD5,
    "float8_e4m3fn": 0x7F,
    "float8_e5m2": 0x7E,
    "int64": 0x5AC3_96A5_E10F_D287,
    "int32": 0x5AC3_96A5,
    "int16": 0x5AC3,
    "int8": 0x5A,
    "uint8": 0xA5,
    "bool": 0xA5,
}
"""Bit pattern of one poisoned element: NaN for every floating-point type, no valid value for bool."""

CANARY = 0xC3
"""Byte that fills the gaps of the arena."""


def fill(span: "torch.Tensor", dtype: DType) -> None:
    """Poison a span of memory (uint8, a multiple of the item's size) that holds elements of `dtype`."""
    import torch

    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[ITEM_BYTES[dtype]]
    span.view(integer).fill_(WORD[dtype])


def mask(values: "torch.Tensor", dtype: DType) -> "torch.Tensor":
    """Where `values` (any strides, of `dtype` or its bits) still hold the poison, as a bool tensor."""
    import torch

    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[ITEM_BYTES[dtype]]
    bits = values if values.dtype == integer else values.view(integer)
    return bits == WORD[dtype]
