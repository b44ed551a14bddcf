"""Filled tensors of one call and the oracle's answer to them, for checks that need no candidate."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.task import FunctionTask, Params, Slot, Tensor, outputs

if TYPE_CHECKING:
    import torch


def filled(
    task: FunctionTask, params: Params, tensors: Sequence[Tensor], seed: int
) -> "dict[str, torch.Tensor]":
    """All tensors of a call by name, inputs filled from the seed, outputs zero."""
    slot = {tensor.name: _empty(tensor) for tensor in tensors}
    task.fill(params, [slot], [seed])
    return slot


def answer(task: FunctionTask, params: Params, tensors: Sequence[Tensor], given: Slot) -> Slot:
    """What the oracle says. Raises ValueError if that is no answer, or if it changed an input."""
    import torch

    before = {name: values.clone() for name, values in given.items()}
    found: object = task.oracle(params, given)
    if not isinstance(found, Mapping):
        raise ValueError(f"the oracle returned a {type(found).__name__}; outputs by name are needed")
    for tensor in outputs(tensors):
        values = found.get(tensor.name)
        if not isinstance(values, torch.Tensor):
            raise ValueError(f"the oracle returned no tensor {tensor.name!r}")
        if tensor.count is None and tuple(values.shape) != tuple(tensor.shape):
            raise ValueError(
                f"the oracle's {tensor.name!r} has the shape {tuple(values.shape)}, not {tuple(tensor.shape)}"
            )
    for name, values in before.items():
        if not torch.equal(_bits(values), _bits(given[name])):
            raise ValueError(f"the oracle changed its input {name!r}")
    return found


def _bits(values: "torch.Tensor") -> "torch.Tensor":
    """The bytes of a tensor's elements: a NaN equals itself."""
    import torch

    return values.contiguous().reshape(-1).view(torch.uint8)


def _empty(tensor: Tensor) -> "torch.Tensor":
    import torch

    dtype: torch.dtype = getattr(torch, tensor.dtype)
    memory = torch.zeros(max(1, tensor.span_bytes // tensor.item_bytes), dtype=dtype)
    return memory.as_strided(tensor.shape, tensor.effective_strides, tensor.offset)
