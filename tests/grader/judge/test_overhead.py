"""The constant c, measured for real."""

import statistics

import pytest

from grader.hardware.profile import Hardware
from grader.judge import overhead
from grader.judge.overhead import Overhead
from grader.judge.own import OwnCandidate
from grader.sandbox import registry


def test_c_is_the_least_of_its_rounds_and_costs_something(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    measured = overhead.empty_rounds

    def recorded(own: OwnCandidate, rounds: int) -> list[float]:
        seen.extend(measured(own, rounds))
        return seen

    monkeypatch.setattr(overhead, "empty_rounds", recorded)
    found = overhead.measure(registry.choose("bubblewrap"), rounds=12)
    assert len(seen) == 12
    assert found == Overhead(min(seen), statistics.median(seen))
    assert 0 < found.minimum < found.median < 1.0


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
