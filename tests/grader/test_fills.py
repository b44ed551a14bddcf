"""Fills: reproducible from the seed alone, independent everywhere else, right for every dtype and stride."""

import numpy as np
import pytest
import torch

from grader import fills

SEED = (1 << 127) + 12345
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
SHAPES = [(0, 7), (7, 0), (1,), (5, 1), (33, 1031), (3, 40000), (2, 3, 129)]


def test_a_slot_can_be_made_again() -> None:
    first, second = torch.empty(100, 700), torch.empty(100, 700)
    fills.rows(first, SEED, "x")
    fills.uniform(second, SEED, "w")
    fills.rows(second, SEED, "x")
    assert torch.equal(first, second)


@pytest.mark.parametrize("bit", [0, 31, 32, 63, 64, 100, 127])
def test_every_bit_of_the_seed_counts(bit: int) -> None:
    first, second = torch.empty(4096), torch.empty(4096)
    fills.uniform(first, SEED, "x")
    fills.uniform(second, SEED ^ (1 << bit), "x")
    assert (first == second).sum() < 10
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 0.08


def test_tensors_of_one_slot_are_independent() -> None:
    first, second = torch.empty(4096), torch.empty(4096)
    fills.uniform(first, SEED, "x")
    fills.uniform(second, SEED, "res")
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 0.08


@pytest.mark.parametrize("seed", [-1, 1 << 128])
def test_a_seed_that_is_not_128_bits_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="128 bits"):
        fills.uniform(torch.empty(3), seed, "x")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_uniform_covers_its_range(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    tensor = torch.full(shape, torch.nan, dtype=dtype)
    fills.uniform(tensor, SEED, "x", 1.0, 3.0)
    assert ((tensor >= 1.0) & (tensor <= 3.0)).all()
    if tensor.numel() > 1000:
        wide = tensor.double()
        assert wide.mean().item() == pytest.approx(2.0, abs=0.1)
        assert wide.var().item() == pytest.approx(4 / 12, rel=0.15)
        assert (wide.min() < 1.05) & (wide.max() > 2.95)


@pytest.mark.parametrize("dtype", FLOATS)
def test_strides_change_where_values_lie_but_not_which(dtype: torch.dtype) -> None:
    plain = torch.empty(6, 300, dtype=dtype)
    fills.rows(plain, SEED, "x")
    wide = torch.full((6, 450), 77.0, dtype=dtype)
    fills.rows(wide[:, 100:400], SEED, "x")
    assert torch.equal(wide[:, 100:400], plain)
    assert (wide[:, :100] == 77).all()
    assert (wide[:, 400:] == 77).all()
    turned = torch.empty(300, 6, dtype=dtype)
    fills.rows(turned.T, SEED, "x")
    assert torch.equal(turned.T, plain)


def test_strides_that_cannot_be_merged_give_the_same_values() -> None:
    plain = torch.empty(40, 50, 61)
    fills.rows(plain, SEED, "x")
    permuted = torch.empty(50, 40, 61).permute(1, 0, 2)
    fills.rows(permuted, SEED, "x")
    assert torch.equal(permuted, plain)


def test_no_part_repeats_another() -> None:
    tensor = torch.empty(1 << 20)
    fills.uniform(tensor, SEED, "x")
    assert np.unique(tensor.numpy()).size > 0.9 * tensor.numel()
    pieces = tensor.view(-1, 1 << 14)
    correlation = torch.corrcoef(pieces) - torch.eye(len(pieces))
    assert correlation.abs().max() < 0.05


def test_rows_differ_in_scale_and_mean_and_have_outliers() -> None:
    tensor = torch.empty(2000, 512)
    fills.rows(tensor, SEED, "x", outliers=1 / 512)
    rms = tensor.square().mean(1).sqrt().log2()
    assert rms.min() < -4.0
    assert rms.max() > 5.0
    assert rms.std() > 2.0
    centre = tensor.median(1).values / tensor.std(1)
    assert centre.std() > 0.5
    assert tensor.abs().max() <= 2**5 * 8 * 16
    peaks = tensor.abs().max(1).values / tensor.abs().median(1).values
    assert 0.2 < float((peaks > 8).float().mean()) < 0.95


def test_float16_holds_the_default_rows() -> None:
    tensor = torch.empty(500, 4000, dtype=torch.float16)
    fills.rows(tensor, SEED, "x")
    assert tensor.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8])
def test_integers_take_both_ends(dtype: torch.dtype) -> None:
    tensor = torch.full((50, 40), 99, dtype=dtype)
    fills.integers(tensor, SEED, "x", -3, 4)
    assert np.array_equal(np.unique(tensor.numpy()), np.arange(-3, 5))


def test_booleans() -> None:
    tensor = torch.zeros(1000, dtype=torch.bool)
    fills.integers(tensor, SEED, "mask", 0, 1)
    assert 400 < int(tensor.sum()) < 600


def test_integers_are_not_filled_as_floats() -> None:
    with pytest.raises(TypeError, match="floating-point"):
        fills.uniform(torch.empty(3, dtype=torch.int32), SEED, "x")
