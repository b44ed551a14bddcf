"""Sealed probes on a CPU: what runs side by side on two cores is seen, what a busy machine does is not."""

import random
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from grader.contract import Verdict
from grader.hardware.profile import Hardware
from grader.judge import timed
from grader.judge.client import Client
from grader.judge.clock import IntegrityFailure
from grader.judge.cores import Cores
from grader.judge.host_probes import COUNTS, HostProbes
from grader.judge.interval import Rule
from grader.judge.overhead import Overhead
from grader.task import Case, FunctionTask

CONSTANT = Overhead(200e-6, 300e-6)
ANY = Rule(target=1e9)


class Single:
    """Rounds of one call of `latency`, some of them slowed down by neighbours."""

    def __init__(self, latency: float, *, disturbed: float = 0.0) -> None:
        self._latency, self._disturbed = latency, disturbed
        self._generator = random.Random(7)
        self.rounds = 0

    def __call__(self) -> float:
        self.rounds += 1
        slower = 1.6 if self._generator.random() < self._disturbed else 1.0
        return CONSTANT.median + slower * self._latency * self._generator.uniform(1.0, 1.05)


@pytest.mark.parametrize(("ring", "alone"), [(1.4, 1.4), (10.0, 11.0), (10.0, 12.5), (2.0, 2.6), (10.0, 9.0)])
def test_honest_calls_pass_at_the_first_look(ring: float, alone: float) -> None:
    single = Single(alone * 1e-3)
    result = HostProbes(single, CONSTANT, "case").check(ring * 1e-3)
    assert result is not None
    assert result.calls == single.rounds == COUNTS[0]
    assert result.seconds == pytest.approx(alone * 1e-3, rel=0.06)


def test_neighbours_that_slow_most_single_calls_down_accuse_nobody() -> None:
    single = Single(10e-3, disturbed=0.6)
    assert HostProbes(single, CONSTANT, "case").check(10e-3) is not None


@pytest.mark.parametrize(("ring", "alone"), [(5.2, 10.0), (1.1, 2.0), (0.9, 1.8)])
def test_calls_side_by_side_on_two_cores_are_seen(ring: float, alone: float) -> None:
    single = Single(alone * 1e-3)
    with pytest.raises(IntegrityFailure) as failure:
        HostProbes(single, CONSTANT, "case").check(ring * 1e-3)
    assert failure.value.verdict is Verdict.OVERLAP
    assert failure.value.evidence.case == "case"
    assert failure.value.evidence.measured == ring * 1e-3
    assert single.rounds == sum(COUNTS)


def test_short_calls_are_not_probed() -> None:
    single = Single(0.1e-3)
    assert HostProbes(single, CONSTANT).check(0.1e-3) is None
    assert single.rounds == 0


@pytest.mark.parametrize(("count", "probed"), [(1, False), (2, True)])
def test_a_candidate_is_probed_where_it_has_cores_to_overlap_on(
    count: int,
    probed: bool,
    start: Callable[..., Client],
    toy: FunctionTask,
    case: Callable[..., Case],
    hardware: Callable[..., Hardware],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = Cores(0, frozenset(range(1, 1 + count)))
    monkeypatch.setattr(timed, "cores", SimpleNamespace(choose=lambda: chosen))
    plan = timed.plan(toy, case(9), hardware(1e12))
    plan = replace(plan, slots=plan.slots[:4])
    result = timed.run(start(plan), plan, overhead=Overhead(1e-9, 1e-3), rule=ANY).result
    assert result.verdict is Verdict.ACCEPTED, result.message
    assert (result.probe is not None) is probed
