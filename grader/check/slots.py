"""Filled tensors of one call, for checks that need no candidate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.task import FunctionTask, Params, Tensor

if TYPE_CHECKING:
    import torch


def filled(
    task: FunctionTask, params: Params, tensors: Sequence[Tensor], seed: int
) -> "dict[str, torch.Tensor]":
    """All tensors of a call by name, inputs filled from the seed, outputs zero."""
    slot = {tensor.name: _empty(tensor) for tensor in tensors}
    task.fill(params, [slot], [seed])
    return slot


def _empty(tensor: Tensor) -> "torch.Tensor":
    import torch

    dtype: torch.dtype = getattr(torch, tensor.dtype)
    memory = torch.zeros(max(1, tensor.span_bytes // tensor.item_bytes), dtype=dtype)
    return memory.as_strided(tensor.shape, tensor.effective_strides, tensor.offset)
