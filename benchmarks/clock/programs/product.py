"""A product by the library."""

import torch


def solve(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """out = a b."""
    torch.mm(a, b, out=out)
