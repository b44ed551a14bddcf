"""Freivalds's test of a product: what is right passes, and what `judge.md` says must be seen is seen."""

from collections.abc import Callable

import pytest
import torch

from grader.judge import freivalds
from grader.task import Product, Tolerance

BF16 = Tolerance(worst_row=3.5e-3, mean_row=2.0e-3, worst_element=0.03)
FP32 = Tolerance(worst_row=2e-6, mean_row=1e-6, worst_element=1e-5)
Matrices = dict[str, torch.Tensor]


def given(dtype: torch.dtype, *, transposed: bool = False, calls: tuple[int, ...] = ()) -> Matrices:
    generator = torch.Generator().manual_seed(11)
    a = torch.randn(*calls, 96, 256, generator=generator).to(dtype)
    b = torch.randn(*calls, 256, 160, generator=generator).to(dtype)
    return {"a": a, "b": b.transpose(-1, -2).contiguous() if transposed else b}


def product(matrices: Matrices, *, transposed: bool = False) -> torch.Tensor:
    b = matrices["b"].double()
    return matrices["a"].double() @ (b.transpose(-1, -2) if transposed else b)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("dtype", "limits"), [(torch.bfloat16, BF16), (torch.float32, FP32)])
@pytest.mark.parametrize("calls", [(), (3,)])
def test_a_right_product_passes(
    dtype: torch.dtype, limits: Tolerance, transposed: bool, calls: tuple[int, ...]
) -> None:
    matrices = given(dtype, transposed=transposed, calls=calls)
    found = {"c": product(matrices, transposed=transposed).to(dtype)}
    result = freivalds.holds(Product("a", "b", "c", transposed), matrices, found, limits)
    assert result is not None
    assert result.passed
    assert result.elements == found["c"].numel()


def zero_row(c: torch.Tensor, _matrices: Matrices) -> None:
    c[40] = 0


def swapped_rows(c: torch.Tensor, _matrices: Matrices) -> None:
    c[[3, 70]] = c[[70, 3]]


def fewer_terms(c: torch.Tensor, matrices: Matrices) -> None:
    tile = matrices["a"][:32, ::2].double() @ matrices["b"][::2, :32].double()
    c[:32, :32] = 2 * tile


def coarser(c: torch.Tensor, matrices: Matrices) -> None:
    a = matrices["a"].double()
    step = a[:, :128].abs().amax() / 127
    a[:, :128] = (a[:, :128] / step).round() * step
    c.copy_(a @ matrices["b"].double())


def a_nan(c: torch.Tensor, _matrices: Matrices) -> None:
    c[95, 159] = float("nan")


@pytest.mark.parametrize("spoil", [zero_row, swapped_rows, fewer_terms, coarser, a_nan])
def test_what_is_wrong_does_not_pass(spoil: Callable[[torch.Tensor, Matrices], None]) -> None:
    matrices = given(torch.bfloat16)
    c = product(matrices).to(torch.bfloat16)
    spoil(c, matrices)
    for _ in range(20):  # Whatever signs are drawn.
        assert freivalds.holds(Product("a", "b", "c"), matrices, {"c": c}, BF16) is None


def test_integers_are_exact() -> None:
    generator = torch.Generator().manual_seed(5)
    a = torch.randint(-128, 128, (33, 64), dtype=torch.int8, generator=generator)
    b = torch.randint(-128, 128, (64, 17), dtype=torch.int8, generator=generator)
    c = (a.double() @ b.double()).to(torch.int32)
    exact = Tolerance(0.0, 0.0, 0.0)
    assert freivalds.holds(Product("a", "b", "c"), {"a": a, "b": b}, {"c": c}, exact) is not None
    c[7, 3] += 1
    assert freivalds.holds(Product("a", "b", "c"), {"a": a, "b": b}, {"c": c}, exact) is None
