"""Fractions, the curve, points and ranks, by their properties and by numbers worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.scoring import (
    Fraction,
    ScoringError,
    case_fraction,
    combine,
    comparison_score,
    curve,
    least_unlooked,
    points,
    ranks,
    uneven_gains,
)

CURVE = [(0.1, 0.0), (0.4, 0.5), (0.9, 1.0)]

seconds = st.floats(1e-7, 10)
unit = st.floats(1e-6, 1)


@st.composite
def fractions(draw: st.DrawFn) -> Fraction:
    low, value, high = sorted(draw(st.lists(unit, min_size=3, max_size=3)))
    return Fraction(value, low, high)


def test_a_time_at_the_bound_is_one_and_at_twice_the_bound_a_half() -> None:
    assert case_fraction(2.0, 1.6, 2.5, 1.0) == Fraction(0.5, 0.4, 0.625)
    assert case_fraction(0.9, 0.8, 1.25, 1.0) == Fraction(1.0, 0.8, 1.0)


def test_a_quantity_that_is_better_higher_counts_the_other_way() -> None:
    assert case_fraction(50.0, 40.0, 60.0, 100.0, better="higher") == Fraction(0.5, 0.4, 0.6)


@given(seconds, seconds, seconds, seconds)
def test_a_fraction_lies_in_its_interval(a: float, b: float, c: float, bound: float) -> None:
    low, value, high = sorted((a, b, c))
    found = case_fraction(value, low, high, bound)
    assert 0 < found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(
    "numbers",
    [(0, 0, 1, 1), (-1, -1, 1, 1), (math.nan, 1, 1, 1), (1, 1, math.inf, 1), (1, 1, 1, 0), (3, 1, 2, 1)],
)
def test_a_time_that_is_no_time_is_a_grader_error(numbers: tuple[float, float, float, float]) -> None:
    with pytest.raises(ScoringError):
        case_fraction(*numbers)


@given(st.lists(fractions(), min_size=1, max_size=8))
def test_the_geometric_mean_lies_between_its_cases_and_within_its_interval(cases: list[Fraction]) -> None:
    found = combine(cases)
    assert min(case.value for case in cases) <= found.value * (1 + 1e-9)
    assert found.value <= max(case.value for case in cases) * (1 + 1e-9)
    assert found.low <= found.value <= found.high
    assert found.low == pytest.approx(math.prod(case.low for case in cases) ** (1 / len(cases)))


@given(st.lists(fractions(), min_size=1, max_size=6), st.randoms())
def test_the_order_of_the_cases_does_not_matter(cases: list[Fraction], random: "object") -> None:
    shuffled = list(cases)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert combine(shuffled).value == pytest.approx(combine(cases).value)


def test_the_geometric_mean_by_hand() -> None:
    found = combine([Fraction(0.25, 0.16, 0.36), Fraction(0.64, 0.49, 0.81)])
    assert found.value == pytest.approx(0.4)
    assert [found.low, found.high] == pytest.approx([0.28, 0.54])
    with pytest.raises(ScoringError):
        combine([])


def test_the_curve_meets_its_milestones_and_is_linear_in_the_logarithm() -> None:
    for fraction, credit in CURVE:
        assert curve(fraction, CURVE) == pytest.approx(credit)
    assert curve(0.2, CURVE) == pytest.approx(0.25)  # 0.2 is the geometric middle of 0.1 and 0.4.
    assert curve(0.6, CURVE) == pytest.approx(0.75)
    assert (curve(0.01, CURVE), curve(1.0, CURVE)) == (0.0, 1.0)


@given(unit, unit)
def test_the_curve_never_falls(a: float, b: float) -> None:
    slow, fast = sorted((a, b))
    assert 0 <= curve(slow, CURVE) <= curve(fast, CURVE) + 1e-12
    assert curve(fast, CURVE) <= 1


@pytest.mark.parametrize(
    "milestones",
    [
        [],
        [(0.5, 0.5)],
        [(0.5, 0.5), (0.5, 1.0)],
        [(0.5, 0.5), (0.4, 1.0)],
        [(0.1, 0.5), (0.5, 0.4)],
        [(0.0, 0.0), (1.0, 1.0)],
        [(0.1, 0.0), (1.0, 1.5)],
        [(0.1, math.nan), (1.0, 1.0)],
    ],
    ids=["none", "one", "equal", "falling", "credit falls", "zero", "over one", "nan"],
)
def test_a_curve_that_is_none_is_refused(milestones: list[tuple[float, float]]) -> None:
    with pytest.raises(ScoringError):
        curve(0.5, milestones)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1, math.nan, math.inf])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with pytest.raises(ScoringError):
        curve(fraction, CURVE)


def test_points_by_hand() -> None:
    full = points(passed_weight=1, fraction=0.4, milestones=CURVE, correctness=0.4, performance=0.6)
    assert [full.total, full.correctness, full.performance] == pytest.approx([70, 40, 30])
    half = points(passed_weight=0.5, fraction=1.0, milestones=CURVE, correctness=0.4, performance=0.6)
    assert [half.total, half.performance] == pytest.approx([20, 0])
    untimed = points(passed_weight=1, fraction=None, milestones=CURVE, correctness=0.4, performance=0.6)
    assert untimed.total == pytest.approx(40)
    shares = {"milestones": CURVE, "correctness": 0.4, "performance": 0.6}
    left_out = points(passed_weight=0.8, handed_in=0.8, fraction=0.4, **shares)  # type: ignore[arg-type]
    assert [left_out.correctness, left_out.performance] == pytest.approx([32, 30])
    wrong = points(passed_weight=0.0, handed_in=0.8, fraction=0.4, **shares)  # type: ignore[arg-type]
    assert wrong.total == 0


def test_shares_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ScoringError, match="add up"):
        points(passed_weight=1, fraction=1, milestones=CURVE, correctness=0.5, performance=0.6)
    with pytest.raises(ScoringError, match="passed weight"):
        points(passed_weight=1.5, fraction=1, milestones=CURVE, correctness=0.4, performance=0.6)


def test_the_comparison_score_is_one_at_the_bound_and_a_half_at_the_baseline() -> None:
    assert comparison_score(1.0, 1.0, 3.0) == 1.0
    assert comparison_score(0.5, 1.0, 3.0) == 1.0
    assert comparison_score(3.0, 1.0, 3.0) == pytest.approx(0.5)
    assert comparison_score(5.0, 1.0, 3.0) == pytest.approx(1 / 3)


@given(seconds, seconds, seconds)
def test_the_comparison_score_stays_in_range_whatever_the_baseline(
    time: float, bound: float, baseline: float
) -> None:
    assert 0 <= comparison_score(time, bound, baseline) <= 1


def test_a_baseline_at_the_bound_is_handled() -> None:
    assert comparison_score(2.0, 1.0, 1.0) == pytest.approx(0.5)
    assert comparison_score(2.0, 1.0, 0.1) == pytest.approx(0.5)
    with pytest.raises(ScoringError):
        comparison_score(1.0, 1.0, 0.0)


def test_ranks_are_shared_within_one_percent_of_the_leader_not_of_the_neighbour() -> None:
    # 0.888 is within 1 % of its neighbour 0.892, not of the leader 0.9: it leads the next group.
    assert ranks([0.9, 0.888, 0.892, 0.5]) == [1, 3, 1, 4]
    assert ranks([0.5, 0.5, 0.5]) == [1, 1, 1]
    assert ranks([]) == []


@given(st.lists(unit, max_size=20))
def test_a_better_entry_never_ranks_behind_a_worse_one(lows: list[float]) -> None:
    found = ranks(lows)
    for low, rank in zip(lows, found, strict=True):
        assert all(rank <= other for worse, other in zip(lows, found, strict=True) if worse < low)
    assert not lows or min(found) == 1


def test_a_time_may_pass_the_measured_ceiling_by_two_percent() -> None:
    assert least_unlooked(1.02) == pytest.approx(1.0)
    for bound in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ScoringError):
            least_unlooked(bound)


@pytest.mark.parametrize(
    ("measured", "odd"),
    [
        ((1.0, 1.0, 1.0), []),
        ((0.1, 0.1, 0.1), []),  # Fast everywhere.
        ((0.49, 1.0, 1.0), ["a"]),
        ((0.5, 1.0, 1.0), []),  # Twice the median, and not more.
        ((0.2, 0.09, 0.9), ["b"]),
        ((0.1, 1.0), []),  # Of two, none can stand out.
        ((0.1,), []),
        ((), []),
    ],
)
def test_a_gain_stands_out_above_twice_the_median(measured: tuple[float, ...], odd: list[str]) -> None:
    times = dict(zip("abc", measured, strict=False))
    found = uneven_gains(times, dict.fromkeys(times, 1.0))
    assert list(found) == odd
    for case in odd:
        gain, most = found[case]
        assert gain == pytest.approx(1 / times[case])
        assert gain > most


def test_gains_are_those_of_cases_that_the_reference_has() -> None:
    found = uneven_gains(
        {"a": 0.1, "b": 1.0, "c": 1.0, "new": 1e-9}, {"a": 1.0, "b": 1.0, "c": 1.0, "old": 1.0}
    )
    assert list(found) == ["a"]
    assert uneven_gains({"a": 1.0}, {}) == {}
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ScoringError):
            uneven_gains({"a": wrong}, {"a": 1.0})
