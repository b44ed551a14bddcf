"""What the operands hold: ordinary values, a kind for short rows, three against those who skip something."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader import fills

if TYPE_CHECKING:
    import torch

SPIKE = 0.8
"""Magnitude of a spike in units of the square root of K: it weighs about as much as the rest of its row."""
RANK = 2
CANCELLED = 64
"""One column in so many of the second half does not cancel."""


def rows(a: "torch.Tensor", b: "torch.Tensor", seed: int) -> None:
    """Rows of A have sizes and means of their own, and outliers; B is spread evenly around 0."""
    narrow = str(a.dtype) == "torch.float16"  # Sums of thousands of products must stay within its range.
    fills.rows(a, seed, "a", exponent=2.0 if narrow else 4.0)
    fills.uniform(b, seed, "b")


def positive(a: "torch.Tensor", b: "torch.Tensor", seed: int) -> None:
    """No sum cancels: a row of few elements is then as precise as its type, whatever is drawn.

    An element that cancels to a thousandth has lost three digits by any order of adding in float32; in a long
    row the others outweigh it, and here there are none.
    """
    fills.uniform(a, seed, "a", 0.25, 1.0)
    fills.uniform(b, seed, "b", 0.25, 1.0)


def spikes(a: "torch.Tensor", b: "torch.Tensor", seed: int) -> None:
    """Each row of A has one element as heavy as all others together, each at a place of its own."""
    import torch

    fills.uniform(a, seed, "a")
    fills.uniform(b, seed, "b")
    random = fills.generator(seed, "spikes")
    m, k = a.shape
    places = torch.from_numpy(random.integers(0, k, m))
    sizes = torch.from_numpy(random.uniform(0.5, 1.0, m) * random.choice([-1.0, 1.0], m))
    a[torch.arange(m), places] = (sizes * SPIKE * k**0.5).to(a.dtype)


def low_rank(a: "torch.Tensor", b: "torch.Tensor", seed: int) -> None:
    """A and B are products of RANK columns each, rounded to the type: all rows point almost the same way."""
    import torch

    random = fills.generator(seed, "low rank")

    def draw(*shape: int) -> "torch.Tensor":
        return torch.from_numpy(random.uniform(-1.0, 1.0, shape))

    inner = draw(RANK, a.shape[1])
    a.copy_(draw(a.shape[0], RANK) @ inner)
    b.copy_(draw(b.shape[0], RANK) @ inner)


def cancel(a: "torch.Tensor", b: "torch.Tensor", seed: int) -> None:
    """The second half of K takes away what the first one gave, but for a few columns."""
    fills.uniform(a, seed, "a")
    fills.uniform(b, seed, "b")
    half = a.shape[1] // 2
    random = fills.generator(seed, "cancel")
    kept = random.choice(half, max(1, half // CANCELLED), replace=False) if half else []
    fresh_a, fresh_b = a[:, half : 2 * half].clone(), b[:, half : 2 * half].clone()
    a[:, half : 2 * half] = a[:, :half]
    b[:, half : 2 * half] = -b[:, :half]
    a[:, half : 2 * half][:, kept] = fresh_a[:, kept]
    b[:, half : 2 * half][:, kept] = fresh_b[:, kept]


VALUES: "Mapping[str, Callable[[torch.Tensor, torch.Tensor, int], None]]" = {
    "rows": rows,
    "positive": positive,
    "spikes": spikes,
    "low_rank": low_rank,
    "cancel": cancel,
}
