"""Sealed probes, on latencies as an H200 gives them: scatter of some 15 µs a round."""

import random
from collections.abc import Callable

import pytest

from grader.contract import Verdict
from grader.judge.clock import IntegrityFailure
from grader.judge.probes import COUNTS, Latency, Probes

EMPTY = Latency(345e-6, 2e-6)


class Single:
    """Rounds of one call that take `latency` beside the empty round, with a scatter of `noise`."""

    def __init__(self, latency: float, noise: float) -> None:
        self._latency, self._noise = latency, noise
        self._generator = random.Random(7)
        self.audited: list[bool] = []

    def __call__(self, audited: bool) -> float:
        self.audited.append(audited)
        return EMPTY.seconds + self._generator.gauss(self._latency, self._noise)


Made = Callable[[float, float], tuple[Probes, Single]]


@pytest.fixture
def probes() -> Made:
    def make(latency: float, noise: float) -> tuple[Probes, Single]:
        single = Single(latency, noise)
        return Probes(single, EMPTY, "add"), single

    return make


@pytest.mark.parametrize(
    ("ring", "latency"),
    [(67.9, 72.0), (72.8, 75.0), (59.6, 64.6), (539.8, 563.9), (68.8, 60.0), (2.1, 44.0)],
)
def test_honest_calls_pass_at_the_first_look(probes: Made, ring: float, latency: float) -> None:
    subject, single = probes(latency * 1e-6, 15e-6)
    result = subject.check(ring * 1e-6)
    assert result.calls == len(single.audited) == COUNTS[0]
    assert result.seconds == pytest.approx(latency * 1e-6, abs=8e-6)
    assert any(single.audited)
    assert not all(single.audited)


@pytest.mark.parametrize(("ring", "latency"), [(20.0, 100.0), (100.0, 200.0), (380.0, 500.0)])
def test_calls_side_by_side_are_seen_at_the_last_look(probes: Made, ring: float, latency: float) -> None:
    subject, single = probes(latency * 1e-6, 12e-6)
    with pytest.raises(IntegrityFailure) as failure:
        subject.check(ring * 1e-6)
    assert failure.value.verdict is Verdict.OVERLAP
    assert failure.value.evidence.measured == ring * 1e-6
    assert failure.value.evidence.case == "add"
    assert len(single.audited) == sum(COUNTS)


def test_outliers_do_not_count() -> None:
    samples = [10.0 + 0.1 * (i % 10) for i in range(100)]
    calm = Latency.of(samples)
    wild = Latency.of([*samples[:-5], *[1000.0] * 5])
    assert wild.seconds == pytest.approx(calm.seconds, abs=0.2)
    assert calm.error < 0.1
