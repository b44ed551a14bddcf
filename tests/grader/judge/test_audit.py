"""The comparison with the oracle: what must pass, what must not, and where it says the first error is."""

from math import inf, nan

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.contract import FirstWrong
from grader.judge import audit, poison
from grader.task import DType, Tensor, Tolerance

BLOCK = audit.BLOCK
TOLERANCE = Tolerance(worst_row=1e-5, mean_row=1e-6, worst_element=1e-4)
FLOATS: list[DType] = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
INTEGERS: list[DType] = ["int64", "int32", "int16", "int8", "uint8"]


def output(shape: tuple[int, ...], dtype: DType = "float32", count: str | None = None) -> Tensor:
    return Tensor("y", dtype, shape, "out", count=count)


def check(found: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance = TOLERANCE) -> audit.Comparison:
    dtype = str(found.dtype).removeprefix("torch.")
    return audit.compare(output(tuple(found.shape), dtype), found, expected, tolerance)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**31))
def test_row_errors_agree_with_their_definition(rows: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    expected = generator.normal(size=(rows, columns)) * 2.0 ** generator.integers(-4, 5, (rows, 1))
    found = (expected * (1 + 1e-3 * generator.normal(size=expected.shape))).astype(np.float32)
    result = check(torch.from_numpy(found), torch.from_numpy(expected))
    difference = found.astype(np.float64) - expected
    errors = np.linalg.norm(difference, axis=1) / np.linalg.norm(expected, axis=1)
    rms = np.sqrt((expected**2).mean(1, keepdims=True))
    assert result.worst_row == pytest.approx(errors.max())
    assert result.mean_row == pytest.approx(errors.mean())
    assert result.worst_element == pytest.approx((abs(difference) / rms).max())
    limit = TOLERANCE.worst_element
    assert result.wrong_elements == (abs(difference) / rms > limit).sum()


@pytest.mark.parametrize("shape", [(3, BLOCK + 5), (3 * BLOCK,), (BLOCK // 7, 23), (5, 7, 3)])
def test_every_block_is_compared(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(1)
    expected = torch.randn(shape, generator=generator, dtype=torch.float64)
    found = expected.float()
    assert check(found, expected).passed
    for flat in (0, expected.numel() // 2, expected.numel() - 1):
        broken = found.clone()
        broken.view(-1)[flat] += 1
        result = check(broken, expected)
        assert not result.passed
        assert result.first_wrong is not None
        assert result.first_wrong.index == tuple(int(i) for i in np.unravel_index(flat, shape))
        assert result.wrong_elements == 1


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [1, 33])
def test_nan_never_passes(dtype: DType, columns: int) -> None:
    expected = torch.ones(4, columns, dtype=torch.float64)
    found = expected.to(getattr(torch, dtype), copy=True)
    wide = Tolerance(1e9, 1e9, 1e9)
    assert check(found, expected, wide).passed
    found[2, -1] = nan
    result = check(found, expected, wide)
    assert not result.passed
    assert result.first_wrong == FirstWrong(output="y", index=(2, columns - 1), expected="1", found="nan")
    assert result.stats().worst_row is None


@pytest.mark.parametrize("dtype", FLOATS)
def test_unwritten_output_fails_and_is_counted(dtype: DType) -> None:
    found = torch.empty(6, 10, dtype=getattr(torch, dtype))
    poison.fill(found.view(torch.uint8).view(-1), dtype)
    expected = torch.zeros(6, 10, dtype=torch.float64)
    found[0] = 0
    result = check(found, expected, Tolerance(1e9, 1e9, 1e9))
    assert (result.passed, result.unwritten, result.wrong_elements) == (False, 50, 50)
    assert result.first_wrong is not None
    assert result.first_wrong.index == (1, 0)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_integers_are_exact(dtype: DType) -> None:
    expected = torch.arange(60).reshape(4, 15) % (2 if dtype == "bool" else 60)
    found = expected.to(getattr(torch, dtype), copy=True)
    generous = Tolerance(1e9, 1e9, 1e9)
    assert check(found, expected, generous).passed
    found.view(-1)[31] = not found.view(-1)[31] if dtype == "bool" else found.view(-1)[31] + 1
    result = check(found, expected, generous)
    assert not result.passed
    assert result.wrong_elements == 1
    assert result.first_wrong is not None
    assert result.first_wrong.index == (2, 1)
    poison.fill(found.view(torch.uint8).view(-1), dtype)
    result = check(found, expected, generous)
    assert (result.passed, result.unwritten) == (False, 60)


def test_large_integers_are_compared_as_integers() -> None:
    expected = torch.tensor([2**62 + 1, -(2**63)])
    assert check(expected.clone(), expected).passed
    assert not check(expected - torch.tensor([1, 0]), expected).passed


def test_infinities_must_be_met_exactly() -> None:
    expected = torch.tensor([[inf, 1.0], [-inf, 2.0], [-inf, -inf]], dtype=torch.float64)
    assert check(expected.float(), expected).passed
    for row, column, value in ((0, 0, -inf), (0, 0, 1e30), (0, 1, inf), (2, 1, nan), (1, 1, 2.1)):
        found = expected.float()
        found[row, column] = value
        result = check(found, expected)
        assert not result.passed
        assert result.first_wrong is not None
        assert result.first_wrong.index == (row, column)


@pytest.mark.parametrize(("value", "passes"), [(0.0, True), (-0.0, True), (1e-44, True), (1e-30, False)])
def test_a_row_of_zeros_admits_only_dust(value: float, passes: bool) -> None:
    expected = torch.ones(3, 8, dtype=torch.float64)
    expected[1] = 0
    found = expected.float()
    found[1, 5] = value
    assert check(found, expected).passed is passes


def test_a_row_below_the_smallest_number_of_its_type_may_be_flushed() -> None:
    expected = torch.full((2, 8), 1e-300, dtype=torch.float64)
    assert check(torch.zeros(2, 8), expected).passed
    assert not check(torch.full((2, 8), 1e-20), expected).passed


def test_a_small_row_is_not_hidden_by_a_large_one() -> None:
    expected = torch.ones(2, 64, dtype=torch.float64)
    expected[0] = 1e6
    found = expected.float()
    found[1] *= 1.01
    assert not check(found, expected).passed


def test_an_error_spread_over_a_row_is_reported_at_its_worst_element() -> None:
    expected = torch.ones(3, 64, dtype=torch.float64)
    found = expected.float()
    found[1] += 5e-5
    found[1, 7] += 2e-5
    result = check(found, expected)
    assert not result.passed
    assert result.wrong_elements == 0
    assert result.first_wrong is not None
    assert result.first_wrong.index == (1, 7)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3)])
def test_empty_outputs_pass(shape: tuple[int, ...]) -> None:
    result = check(torch.empty(shape), torch.empty(shape, dtype=torch.float64))
    assert result.passed
    assert result.stats().elements == 0


def test_a_scalar_output_has_an_empty_index() -> None:
    assert check(torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64)).passed
    result = check(torch.tensor(3.0), torch.tensor(2.0, dtype=torch.float64))
    assert result.first_wrong == FirstWrong(output="y", index=(), expected="2", found="3")


def test_strided_outputs_are_compared_in_logical_order() -> None:
    expected = torch.arange(12, dtype=torch.float64).reshape(3, 4) + 1
    memory = torch.full((4, 6), nan)
    found = memory.t()[1:4, 0:4]
    found.copy_(expected)
    assert check(found, expected).passed
    found[2, 1] = 0
    result = check(found, expected)
    assert result.first_wrong is not None
    assert result.first_wrong.index == (2, 1)


@pytest.mark.parametrize(
    ("expected", "dtype"),
    [
        (torch.full((2, 2), nan, dtype=torch.float64), "float32"),
        (torch.full((2, 2), 1e200, dtype=torch.float64), "float32"),
        (torch.zeros(2, 3, dtype=torch.float64), "float32"),
        (torch.zeros(2, 2, dtype=torch.float64), "int32"),
    ],
    ids=["nan", "overflow", "shape", "float for an integer"],
)
def test_a_broken_oracle_is_the_assignments_fault(expected: torch.Tensor, dtype: DType) -> None:
    found = torch.zeros(2, 2, dtype=getattr(torch, dtype))
    with pytest.raises(audit.AuditError, match="oracle's"):
        audit.compare(output((2, 2), dtype), found, expected, TOLERANCE)


def test_slots_are_compared_output_by_output() -> None:
    tensors = [Tensor("x", "float32", (2,), "in"), Tensor("s", "float32", (2,), "inout"), output((2,))]
    one = torch.ones(2, dtype=torch.float64)
    found = {"x": torch.zeros(2), "s": torch.ones(2) * 1.01, "y": torch.ones(2) * 1.01}
    tolerances = {"y": Tolerance(0.1, 0.1, 0.1), "*": TOLERANCE}
    results = audit.compare_slot(tensors, found, {"s": one, "y": one}, tolerances)
    assert [(r.output, r.passed) for r in results] == [("s", False), ("y", True)]
    with pytest.raises(audit.AuditError, match="no 'y'"):
        audit.compare_slot(tensors, found, {"s": one}, tolerances)


def test_the_tail_of_a_counted_output_must_stay_untouched() -> None:
    tensor = output((5, 2), count="n")
    found = torch.empty(5, 2)
    poison.fill(found.view(torch.uint8).view(-1), "float32")
    found[:3] = 1
    expected = torch.ones(3, 2, dtype=torch.float64)
    tensors = [tensor]
    assert audit.compare_slot(tensors, {"y": found}, {"y": expected}, {"*": TOLERANCE})[0].passed
    assert audit.compare_slot(tensors, {"y": found}, {"y": expected[:2]}, {"*": TOLERANCE})[
        0
    ].first_wrong == FirstWrong(output="y", index=(2, 0), expected="untouched: beyond the count", found="1")
    found[4, 1] = nan
    result = audit.compare_slot(tensors, {"y": found}, {"y": expected}, {"*": TOLERANCE})[0]
    assert not result.passed
    assert result.first_wrong is not None
    assert result.first_wrong.index == (4, 1)


def test_one_failed_call_survives_joining() -> None:
    expected = torch.ones(4, 16, dtype=torch.float64)
    good = check(expected.float(), expected)
    bad = check(expected.float() * 1.1, expected)
    joined = good.join(good).join(bad).join(good)
    assert not joined.passed
    assert joined.first_wrong == bad.first_wrong
    assert joined.elements == 4 * 64
    assert good.join(good).passed
