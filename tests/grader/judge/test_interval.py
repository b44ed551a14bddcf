"""The interval's coverage, exactly and by simulation, and the stopping rule."""

from math import comb, inf, nan
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge.interval import Decision, Interval, Rule, of_median, order


@given(st.integers(1, 300), st.floats(0.5, 0.999))
def test_order_is_the_largest_that_covers(samples: int, confidence: float) -> None:
    def coverage(k: int) -> float:
        return 1 - 2 * float(sum(comb(samples, i) for i in range(k)) / 2**samples)

    k = order(samples, confidence)
    assert k == 0 or coverage(k) >= confidence - 1e-12
    assert coverage(k + 1) < confidence


@given(st.lists(st.floats(1e-7, 10), min_size=6, max_size=60), st.randoms(use_true_random=False))
def test_interval_holds_the_median_and_ignores_the_order(samples: list[float], random: object) -> None:
    found = of_median(samples)
    assert found.low <= found.median <= found.high
    assert {found.low, found.high} <= set(samples)
    random.shuffle(samples)  # type: ignore[attr-defined]
    assert of_median(samples) == found


@given(
    st.lists(st.floats(1e-3, 10), min_size=11, max_size=40),
    st.integers(-20, 20),
)
def test_interval_scales_with_its_samples(samples: list[float], exponent: int) -> None:
    scale = 2.0**exponent
    found, scaled = of_median(samples), of_median([sample * scale for sample in samples])
    assert scaled.low == found.low * scale
    assert scaled.high == found.high * scale
    assert scaled.half_width == pytest.approx(found.half_width)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_few_wild_rounds_do_not_move_the_interval_beyond_the_others(seed: int, wild: int) -> None:
    generator = np.random.default_rng(seed)
    calm = list(1 + 0.01 * generator.random(20))
    found = of_median(calm + [1e6] * wild)
    assert found.high <= max(calm)


@pytest.mark.parametrize("cv", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("skewed", [False, True])
def test_coverage_with_the_stopping_rule(cv: float, skewed: bool) -> None:
    generator = np.random.default_rng(7)
    rule = Rule(target=0.05)
    covered = trials = 0
    truth = 1 + cv * np.log(2) if skewed else 1.0
    while trials < 1500:
        noise = generator.exponential(cv, 40) if skewed else generator.normal(0, cv, 40)
        samples: list[float] = []
        for value in 1 + noise:
            samples.append(float(value))
            if rule.decide(samples, 0.0) is not Decision.MORE:
                break
        found = of_median(samples)
        covered += found.low <= truth <= found.high
        trials += 1
    # Four standard errors below 95 %: a nominal coverage of 93 % fails, honest luck does not.
    assert covered / trials > 0.95 - 4 * (0.95 * 0.05 / trials) ** 0.5


def test_coverage_of_widened_intervals_between_sessions() -> None:
    generator = np.random.default_rng(8)
    covered = 0
    for _ in range(2000):
        session = 1 + generator.normal(0, 0.03)
        found = of_median(list(session * (1 + generator.normal(0, 0.01, 11)))).widened(0.03)
        covered += found.low <= 1 <= found.high
    assert covered / 2000 > 0.94


@pytest.mark.parametrize("samples", [[], [1.0] * 5, [1.0] * 10 + [nan], [1.0] * 10 + [inf]])
def test_too_few_or_broken_samples_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match=r"too few|not finite"):
        of_median(samples)


def test_rule_stops_early_when_quiet_and_gives_up_when_loud() -> None:
    rule = Rule(target=0.05)
    quiet = [1.0 + i / 1000 for i in range(40)]
    loud = [1.0, 2.0] * 20
    assert rule.decide(quiet[:10], 100.0) is Decision.MORE
    assert rule.decide(quiet[:11], 0.1) is Decision.ENOUGH
    assert rule.decide(loud[:11], 0.1) is Decision.MORE
    assert rule.decide(loud, 0.1) is Decision.UNSTABLE
    assert rule.decide(loud[:12], 10.1) is Decision.UNSTABLE
    assert rule.decide(quiet[:12], 10.1) is Decision.ENOUGH


def test_rule_looks_at_fixed_counts_only() -> None:
    rule = Rule(target=0.05)
    assert sorted(rule.looks()) == [11, 15, 21, 29, 40]
    quiet = [1.0] * 12
    assert rule.decide(quiet, 0.0) is Decision.MORE


def test_widening_never_shrinks() -> None:
    found = Interval(1.0, 0.9, 1.2)
    assert found.widened(0.0) == found
    wide = found.widened(0.05)
    assert wide.low < found.low
    assert wide.high > found.high
    assert median([wide.low, 1.0, wide.high]) == 1.0
