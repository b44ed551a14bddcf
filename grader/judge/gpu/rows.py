"""Errors of whole rows on the device, in one pass over what was found and what was expected."""

from typing import TYPE_CHECKING

from grader.judge.gpu.kernels import Launch, address

if TYPE_CHECKING:
    import torch

CODES = {"float64": 0, "float32": 1, "float16": 2, "bfloat16": 3}
"""`enum DType` of kernels.cu, as far as the kernel reads it."""
_MOST_BLOCKS = 1 << 16


def handles(found: "torch.Tensor", expected: "torch.Tensor") -> bool:
    """Whether `sums` can compare these two."""
    return found.is_cuda and expected.is_cuda and {_name(found), _name(expected)} <= set(CODES)


def sums(found: "torch.Tensor", expected: "torch.Tensor") -> "torch.Tensor":
    """For each row of two matrices, in float64 [rows, 4]: sum of squared differences, sum of squares of the
    expected values, largest difference, number of expected values that are NaN."""
    import torch

    found, expected = found.contiguous(), expected.contiguous()
    count, columns = found.shape
    result = torch.empty(count, 4, dtype=torch.float64, device=found.device)
    arguments = [
        address(found.data_ptr()),
        address(CODES[_name(found)]),
        address(expected.data_ptr()),
        address(CODES[_name(expected)]),
        address(count),
        address(columns),
        address(result.data_ptr()),
    ]
    Launch("rows", min(count, _MOST_BLOCKS), 256, arguments).queue()
    return result


def _name(values: "torch.Tensor") -> str:
    return str(values.dtype).removeprefix("torch.")
