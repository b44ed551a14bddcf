"""The spread between sessions, measured for real, and what it does to an interval."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from grader.hardware.profile import Hardware
from grader.judge import spread, timed
from grader.judge.client import Client
from grader.judge.interval import Rule, of_median
from grader.judge.overhead import Overhead
from grader.sandbox import registry
from grader.task import Case, FunctionTask


def test_sessions_differ() -> None:
    found = spread.measure(registry.choose("bubblewrap"), sessions=2)
    assert 0 < found.cv <= spread.LARGEST
    assert 0 < found.quiet_seconds < 1


def test_only_quiet_rounds_tell_how_sessions_differ() -> None:
    def session(median: float, quiet: int, slow: int) -> list[tuple[float, float]]:
        return [(median, 1.0)] * quiet + [(5 * median, 2.0)] * slow

    alike = [session(1.0, 11, 18), session(1.02, 20, 9)] * 4
    assert spread.between(alike, 1.5) == pytest.approx(spread.upper((8 / 7) ** 0.5 * 0.01 / 1.01, 8))
    assert spread.between(alike, 3.0) > 10 * spread.between(alike, 1.5)
    # A machine that was never quiet for long says nothing; nor may one session speak for all.
    assert spread.between([session(1.0, 10, 19), session(1.0, 10, 19)], 1.5) == spread.LARGEST
    assert spread.between([session(1.0, 29, 0), session(1.0, 10, 19)], 1.5) == spread.LARGEST


def test_a_sample_of_sessions_understates_their_spread_one_time_in_ten() -> None:
    generator = np.random.default_rng(5)
    for sessions in (4, 8):
        drawn = 1 + 0.03 * generator.standard_normal((4000, sessions))
        sample = drawn.std(axis=1, ddof=1) / drawn.mean(axis=1)
        below = sum(spread.upper(float(cv), sessions) < 0.03 for cv in sample) / len(sample)
        assert below == pytest.approx(0.1, abs=0.02)


def test_a_result_is_widened_by_the_profiles_spread(
    start: Callable[..., Client],
    toy: FunctionTask,
    case: Callable[..., Case],
    hardware: Callable[..., Hardware],
) -> None:
    profile = hardware().model_copy(update={"session_spread": 0.1})
    plan = timed.plan(toy, case(), profile)
    plan = replace(plan, slots=plan.slots[:4])
    result = timed.run(start(plan), plan, overhead=Overhead(), rule=Rule(target=1e9)).result
    within = of_median(result.rounds)
    assert result.measure is not None
    assert result.fraction is not None
    assert result.measure.value == within.median
    assert result.measure.high >= max(within.high, within.median * 1.19)
    assert result.measure.low <= min(within.low, within.median * 0.81)
    assert result.fraction_low == pytest.approx(result.fraction * within.median / result.measure.high)
