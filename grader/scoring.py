"""From times to fractions, points and ranks: pure functions, no clock, no database.

A fraction is the share of the speed of light that was reached, in (0, 1]; it carries an interval, and
boards rank by its pessimistic end.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

RANK_GROUP = 0.01
"""Entries within this share of their group's leader share its rank."""
MEASURED_MARGIN = 1.02
"""By so much a time may pass the bound at the measured ceiling before staff look at it."""
UNEVEN_GAIN = 2.0
"""So many times the median gain over the reference may one case gain before staff look at it."""


class ScoringError(ValueError):
    """A number that no score can be made of (not finite, zero, negative, out of order): a grader error."""


@dataclass(frozen=True)
class Fraction:
    """A fraction of the speed of light with the two ends of its interval: 0 < low <= value <= high <= 1."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.value <= self.high <= 1:
            raise ScoringError(f"not a fraction: low {self.low}, value {self.value}, high {self.high}")


@dataclass(frozen=True)
class Points:
    """Points of one grading and the two shares that they are made of."""

    total: float
    correctness: float
    performance: float


def case_fraction(
    value: float, low: float, high: float, bound: float, *, better: Literal["lower", "higher"] = "lower"
) -> Fraction:
    """The fraction of one case from a measure `value` in [low, high] and its bound, all in one unit.

    For a measure that is better lower (a time) it is bound / value, so that its pessimistic end comes from
    `high`. What passes the bound counts as 1: whether it may is the judge's question, not the score's.
    """
    if not all(math.isfinite(number) and number > 0 for number in (value, low, high, bound)):
        raise ScoringError(
            f"measure {value} in [{low}, {high}], bound {bound}: all must be finite and above 0"
        )
    if not low <= value <= high:
        raise ScoringError(f"measure {value} lies outside its interval [{low}, {high}]")
    if better == "lower":
        return Fraction(min(1.0, bound / value), min(1.0, bound / high), min(1.0, bound / low))
    return Fraction(min(1.0, value / bound), min(1.0, low / bound), min(1.0, high / bound))


def combine(fractions: Sequence[Fraction]) -> Fraction:
    """Geometric mean F over all timed cases of a submission, with the interval of the cases' ends.

    Cases of one session err together (clock, neighbours), so their widths do not cancel: the ends are the
    geometric means of the ends.
    """
    if not fractions:
        raise ScoringError("no timed case: there is no fraction to combine")
    value = _geometric_mean([fraction.value for fraction in fractions])
    low = _geometric_mean([fraction.low for fraction in fractions])
    high = _geometric_mean([fraction.high for fraction in fractions])
    return Fraction(value, min(low, value), max(high, value))  # The logarithms round; the order must not.


def curve(fraction: float, milestones: Sequence[tuple[float, float]]) -> float:
    """Credit in [0, 1]: piecewise linear in log F through (fraction, credit), clamped at both ends.

    Milestones ascend strictly in fraction and never fall in credit; at least two are needed.
    """
    _check_fraction(fraction)
    _check_milestones(milestones)
    if fraction <= milestones[0][0]:
        return milestones[0][1]
    for (left, left_credit), (right, right_credit) in pairwise(milestones):
        if fraction <= right:
            share = math.log(fraction / left) / math.log(right / left)
            return left_credit + share * (right_credit - left_credit)
    return milestones[-1][1]


def points(
    *,
    passed_weight: float,
    handed_in: float = 1.0,
    fraction: float | None,
    milestones: Sequence[tuple[float, float]],
    correctness: float,
    performance: float,
    total: float = 100.0,
) -> Points:
    """Points = total x (correctness share x passed weight + performance share x curve(F)).

    `passed_weight` in [0, 1] is the share of the parts' weight whose tests all pass, `handed_in` the share
    that was handed in at all. `fraction` is None where there is no F; a correctness test that fails also
    leaves no performance points, a part that was left out costs only its own weight.
    """
    if not 0 <= passed_weight <= handed_in <= 1:
        raise ScoringError(
            f"a passed weight of {passed_weight} is not in [0, {handed_in}], or that not in [0, 1]"
        )
    if min(correctness, performance) < 0 or not math.isclose(correctness + performance, 1.0):
        raise ScoringError(f"shares {correctness} and {performance} do not add up to 1")
    if not (math.isfinite(total) and total > 0):
        raise ScoringError(f"a total of {total} points is not above 0")
    earned = total * correctness * passed_weight
    fast = 0.0
    if fraction is not None and passed_weight == handed_in:
        fast = total * performance * curve(fraction, milestones)
    return Points(earned + fast, earned, fast)


def least_unlooked(bound: float) -> float:
    """The shortest time that is ranked without a look, from the `bound` at the measured ceiling."""
    if not (math.isfinite(bound) and bound > 0):
        raise ScoringError(f"a bound of {bound} is not above 0")
    return bound / MEASURED_MARGIN


def uneven_gains(
    seconds: Mapping[str, float], reference: Mapping[str, float]
) -> Mapping[str, tuple[float, float]]:
    """Cases whose gain over the reference stands out, with that gain and the most that would not.

    Both mappings give the time of a call by case (in any one unit); cases that the reference lacks do not
    count. The most is twice the median of the submission's own gains, so that nobody stands out who is fast
    everywhere. Of two cases neither can: the median lies between them.
    """
    gains = {}
    for case in seconds.keys() & reference.keys():
        one, other = seconds[case], reference[case]
        if not all(math.isfinite(number) and number > 0 for number in (one, other)):
            raise ScoringError(f"{case}: times {one} and {other} must be finite and above 0")
        gains[case] = other / one
    if not gains:
        return {}
    most = UNEVEN_GAIN * median(gains.values())
    return {case: (gain, most) for case, gain in sorted(gains.items()) if gain > most}


def comparison_score(seconds: float, bound: float, baseline: float) -> float:
    """S = 1 / (1 + (T - T_sol) / (T_base - T_sol)), clamped to [0, 1]: 1 at the bound, 1/2 at the baseline.

    Reported for comparison with a published benchmark, never ranked. A baseline at or below the bound leaves
    S undefined; the plain fraction T_sol / T stands in, which is 1 at the bound as well.
    """
    if not all(math.isfinite(number) and number > 0 for number in (seconds, bound, baseline)):
        raise ScoringError(f"seconds {seconds}, bound {bound}, baseline {baseline}: all must be above 0")
    if seconds <= bound:
        return 1.0
    if baseline <= bound:
        return bound / seconds
    return min(1.0, max(0.0, 1 / (1 + (seconds - bound) / (baseline - bound))))


def ranks(lows: Sequence[float]) -> list[int]:
    """Rank of each entry, from the pessimistic ends of their fractions, in the order given.

    The best entry leads the first group; who is within `RANK_GROUP` of the leader shares its rank; the first
    who is not leads the next group, and its rank is its place (1, 1, 3).
    """
    for low in lows:
        _check_fraction(low)
    result = [0] * len(lows)
    leader = math.inf
    rank = 0
    for place, index in enumerate(sorted(range(len(lows)), key=lambda index: -lows[index]), start=1):
        if place == 1 or lows[index] < leader * (1 - RANK_GROUP):
            leader, rank = lows[index], place
        result[index] = rank
    return result


def _geometric_mean(values: Sequence[float]) -> float:
    return min(1.0, math.exp(math.fsum(math.log(value) for value in values) / len(values)))


def _check_fraction(fraction: float) -> None:
    if not (math.isfinite(fraction) and 0 < fraction <= 1):
        raise ScoringError(f"a fraction of {fraction} is not in (0, 1]")


def _check_milestones(milestones: Sequence[tuple[float, float]]) -> None:
    if len(milestones) < 2:
        raise ScoringError("a curve needs at least two milestones")
    for fraction, credit in milestones:
        _check_fraction(fraction)
        if not 0 <= credit <= 1:
            raise ScoringError(f"a credit of {credit} is not in [0, 1]")
    for (left, left_credit), (right, right_credit) in pairwise(milestones):
        if left >= right or left_credit > right_credit:
            raise ScoringError("milestones must ascend in fraction and must not fall in credit")
