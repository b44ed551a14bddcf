"""The constant c, measured for real."""

import pytest

from grader.hardware.profile import Hardware
from grader.judge import overhead
from grader.judge.overhead import Overhead
from grader.sandbox import registry


def test_an_empty_round_costs_something_and_no_more_than_its_median() -> None:
    found = overhead.measure(registry.choose("bubblewrap"), rounds=12)
    assert 0 < found.minimum <= found.median < 1.0


def test_through_a_profile_and_back() -> None:
    found = Overhead(1e-4, 2e-4)
    profile = Hardware(
        hardware="cpu", name="", kind="cpu", interval_target=0.05, overhead_seconds=found.as_profile()
    )
    assert Overhead.of(profile) == found


@pytest.mark.parametrize(
    "hardware", [None, Hardware(hardware="cpu", name="", kind="cpu", interval_target=0.1)]
)
def test_uncalibrated_nothing_is_subtracted(hardware: Hardware | None) -> None:
    assert Overhead.of(hardware) == Overhead(0.0, 0.0)
