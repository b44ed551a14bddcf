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
    assert 0 < spread.measure(registry.choose("bubblewrap"), sessions=2) <= spread.LARGEST


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
