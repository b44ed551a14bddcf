"""The cheap wrong answers: each is what it is called, and is named where a tolerance lets it through."""

import dataclasses
from pathlib import Path

import pytest
import torch

from grader.assignment import load
from grader.check import mutants
from grader.check.finding import State
from grader.scaffold.make import make
from grader.task import FunctionTask, Tolerance

LOOSE = Tolerance(1e9, 1e9, 1e9)


@pytest.fixture
def samples(tmp_path: Path) -> list[mutants._Sample]:
    """The filled public and timed cases of a scaffolded function: y = 1.5 x in float32."""
    make("demo/new-one", "function", tmp_path, "1.1")
    assignment = load(tmp_path / "assignments/demo/new-one")
    part = assignment.parts()["kernel"]
    assert isinstance(part, FunctionTask)
    return list(mutants._samples(part, assignment.cases("cpu", bytes(16))))


@pytest.mark.parametrize("label", mutants._MUTANTS)
def test_each_changes_every_case_and_is_named_where_it_would_pass(
    samples: list[mutants._Sample], label: str
) -> None:
    mutant = mutants._MUTANTS[label]
    assert all(mutants._changed(sample, "y", mutant(sample)) for sample in samples)
    assert mutants._of_mutant("", label, mutant, samples).text == f"{label}: refused (y)"
    loose = [
        dataclasses.replace(one, case=dataclasses.replace(one.case, tolerance={"y": LOOSE}))
        for one in samples
    ]
    found = mutants._of_mutant("", label, mutant, loose)
    assert found.state is State.FAILS
    assert found.text == f"{label}: accepted: y in timed, y in every public case"


def test_constants_are_zero_and_the_mean(samples: list[mutants._Sample]) -> None:
    for sample in samples:
        right = sample.honest()["y"]
        assert not mutants._zeros(sample)["y"].any()
        mean = mutants._mean(sample)["y"]
        assert (mean == mean[0, 0]).all()
        assert mean[0, 0].item() == pytest.approx(right.double().mean().item(), rel=1e-6)


def test_rows_of_the_mean_size_keep_their_direction(samples: list[mutants._Sample]) -> None:
    for sample in samples:
        right, found = sample.honest()["y"].double(), mutants._equal_rows(sample)["y"].double()
        sizes = torch.linalg.vector_norm(found, dim=1)
        torch.testing.assert_close(sizes, sizes.mean().expand(len(sizes)), rtol=1e-5, atol=0)
        cosine = torch.nn.functional.cosine_similarity(right, found, dim=1)
        torch.testing.assert_close(cosine, torch.ones(len(cosine), dtype=torch.float64))


def test_a_tenth_of_the_columns_is_left_out_or_rounded(samples: list[mutants._Sample]) -> None:
    for sample in samples:
        right = sample.honest()["y"]
        columns = right.shape[1]
        kept = columns - max(1, round(columns / 10))
        assert 0.8 * columns <= kept < columns
        without, rounded = (
            mutant(sample)["y"] for mutant in (mutants._ninety_percent, mutants._lower_precision)
        )
        for found in (without, rounded):
            assert torch.equal(found[:, :kept], right[:, :kept])
        assert not without[:, kept:].any()
        error = (rounded[:, kept:] / right[:, kept:] - 1).abs()
        # To 11 bits: tf32, the next below float32. Elements are few: all may lie near such numbers.
        assert 2**-19 < error.max() <= 2**-11


@pytest.mark.parametrize(
    ("dtype", "lower"),
    [("float64", torch.float32), ("float16", torch.bfloat16), ("bfloat16", torch.float8_e4m3fn)],
)
def test_the_next_lower_precision_has_the_bits_of_its_type(dtype: str, lower: torch.dtype) -> None:
    assert 2.0 ** -mutants._MANTISSA[dtype] == torch.finfo(lower).eps
