"""Freivalds's test of a product: C = A B holds, or almost surely C x and A (B x) differ for a random x.

It sees every row of the output for the price of a pass over the three matrices. Of random signs x the square
of a row's difference is, in the mean, the square of that row's error: so the case's own limits for rows hold
here, a little wider for a single row because of the few vectors. What fails here is not yet wrong: the oracle
decides. What passes is right, except that an error in one element may reach the limit of a whole row.
"""

from typing import TYPE_CHECKING

from grader.judge.audit import Comparison
from grader.task import Product, Slot, Tolerance

if TYPE_CHECKING:
    import torch

VECTORS = 8
SLACK = 2.0
"""By so much a row's estimate may exceed its limit: of eight squares, twice their root mean is one in 1e-12
for code that keeps two thirds of the limit, which honest code does."""
MEAN_SLACK = 1.05
_NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def holds(product: Product, given: Slot, found: Slot, tolerance: Tolerance) -> Comparison | None:
    """The comparison of an output that passes; None where the oracle must be asked.

    `given` are the judge's inputs and `found` the outputs: matrices, or stacks of matrices of several calls.
    """
    import torch

    left, right, out = given[product.left], given[product.right], found[product.out]
    wide = torch.float32 if str(out.dtype).removeprefix("torch.") in _NARROW else torch.float64
    signs = _signs(out.shape[-1], wide, out.device)
    right = right.to(wide)
    if product.transposed:
        right = right.transpose(-1, -2)
    through = left.to(wide) @ (right @ signs)
    values = out.to(wide)
    off = values @ signs - through
    exact = not out.dtype.is_floating_point
    if exact:
        return _passed(product, out, tolerance, 0.0, 0.0) if not bool(off.any()) else None
    size = torch.linalg.vector_norm(values, dim=-1)
    floor = float(torch.finfo(out.dtype).tiny) * out.shape[-1] ** 0.5
    errors = off.square().mean(-1).sqrt_() / size.clamp_(min=floor)
    worst, mean = float(errors.max()), float(errors.mean())
    if worst <= SLACK * tolerance.worst_row and mean <= MEAN_SLACK * tolerance.mean_row:
        return _passed(product, out, tolerance, worst, mean)
    return None  # NaN comes here too: comparisons with it are false.


def _passed(
    product: Product, out: "torch.Tensor", tolerance: Tolerance, worst: float, mean: float
) -> Comparison:
    """Estimates within their slack count as within the limits themselves."""
    return Comparison(
        output=product.out,
        elements=out.numel(),
        tolerance=tolerance,
        exact=not out.dtype.is_floating_point,
        worst_row=min(worst, tolerance.worst_row),
        mean_row=min(mean, tolerance.mean_row),
    )


def _signs(count: int, dtype: "torch.dtype", device: "torch.device") -> "torch.Tensor":
    """Random signs [count, VECTORS], drawn when the outputs can no longer change."""
    import numpy as np
    import torch

    bits = np.random.default_rng().integers(2, size=(count, VECTORS), dtype=np.int8)
    return torch.from_numpy(bits * 2 - 1).to(device=device, dtype=dtype)
