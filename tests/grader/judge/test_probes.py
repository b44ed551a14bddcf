"""Sealed probes, on latencies as an H200 gave them (docs/decisions/0010)."""

import random
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from grader.contract import Verdict
from grader.judge.clock import IntegrityFailure
from grader.judge.probes import AGAIN, COUNT, Probes, estimate
from grader.judge.rounds import Rounds

CONSTANT = 345e-6


class Single:
    """Rounds of one call that take `latency` beside the constant, with a scatter of `noise`."""

    def __init__(self, latency: float, noise: float) -> None:
        self._samples = self._draw(latency, noise)
        self.clock = type("Timer", (), {"case": "add"})()
        self.count = 0

    def _draw(self, latency: float, noise: float) -> Iterator[float]:
        generator = random.Random(7)
        while True:
            yield CONSTANT + generator.gauss(latency, noise)

    def single(self) -> float:
        self.count += 1
        return next(self._samples)


@pytest.fixture
def probes() -> Callable[[float, float], tuple[Probes, Single]]:
    def make(latency: float, noise: float) -> tuple[Probes, Single]:
        single = Single(latency, noise)
        return Probes(cast("Rounds", cast("Any", single)), CONSTANT), single

    return make


@pytest.mark.parametrize(
    ("ring", "latency"),
    [(67.9, 109.0), (72.8, 98.9), (75.4, 87.8), (59.6, 70.6), (539.8, 563.9), (68.8, 19.7), (2.1, 48.0)],
)
def test_honest_calls_pass(probes: Callable[..., Any], ring: float, latency: float) -> None:
    subject, single = probes(latency * 1e-6, 15e-6)
    result = subject.check(ring * 1e-6)
    assert single.count == COUNT
    assert result.seconds == pytest.approx(latency * 1e-6, abs=5e-6)


def test_calls_side_by_side_are_seen_after_more_probes(probes: Callable[..., Any]) -> None:
    subject, single = probes(73e-6, 15e-6)
    with pytest.raises(IntegrityFailure) as failure:
        subject.check(7.5e-6)
    assert failure.value.verdict is Verdict.OVERLAP
    assert failure.value.evidence.measured == 7.5e-6
    assert single.count == COUNT + AGAIN


def test_outliers_do_not_count() -> None:
    samples = [10.0 + 0.1 * (i % 10) for i in range(100)]
    calm, error = estimate(samples)
    wild, _ = estimate([*samples[:-5], *[1000.0] * 5])
    assert wild == pytest.approx(calm, abs=0.2)
    assert error < 0.1
