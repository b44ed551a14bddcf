"""Residual addition and RMSNorm in Triton. Hand in with: solmark grade kernels/add-rmsnorm triton_solution.py"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    x, res, w, y, res_out, columns, stride_x, stride_res, stride_y, stride_out, eps, COLUMNS: tl.constexpr
):
    """One program handles one row; strides are in elements."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    mask = column < columns
    a = tl.load(x + row * stride_x + column, mask, 0.0)
    # Your work begins here.
    tl.store(res_out + row * stride_out + column, a * 0, mask)
    tl.store(y + row * stride_y + column, a * 0, mask)


def solve(
    x: torch.Tensor,
    res: torch.Tensor,
    w: torch.Tensor,
    y: torch.Tensor,
    res_out: torch.Tensor,
    *,
    eps: float,
) -> None:
    """Write x + res to res_out [M, N], and its RMS normalisation times w to y [M, N]; return nothing."""
    rows, columns = x.shape
    if rows == 0:
        return
    strides = (x.stride(0), res.stride(0), y.stride(0), res_out.stride(0))
    kernel[(rows,)](x, res, w, y, res_out, columns, *strides, eps, COLUMNS=triton.next_power_of_2(columns))
