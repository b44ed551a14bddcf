"""Residual addition and RMSNorm in PyTorch. Hand in with: solmark grade kernels/add-rmsnorm solution.py"""

import torch


def solve(
    x: torch.Tensor,
    res: torch.Tensor,
    w: torch.Tensor,
    y: torch.Tensor,
    res_out: torch.Tensor,
    *,
    eps: float,
) -> None:
    """Write x + res to res_out [M, N], and its RMS normalisation times w to y [M, N]; return nothing.

    x, res: [M, N]; w: [N]. All share one dtype: float32, float16 or bfloat16. The columns of a row lie side by
    side; rows may lie further apart than N (`x.stride(0)`). Do not change x, res or w.
    """
    rows, columns = x.shape
    for row in range(rows):
        # Your work begins here: write both outputs with `copy_`, `out=` or an in-place operation.
        y[row].zero_()
        res_out[row].zero_()
