"""Whole timed cases: the number of calls, the verdicts, and the numbers in the result."""

from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest

from grader.contract import Verdict
from grader.hardware.profile import Hardware
from grader.judge import timed
from grader.judge.client import Client
from grader.judge.failure import AssignmentFault
from grader.judge.interval import Rule
from grader.judge.overhead import Overhead
from grader.judge.rounds import ROUND_SECONDS
from grader.task import Case, Cost, FunctionTask, Params, Tensor

Starter = Callable[..., Client]
CaseMaker = Callable[..., Case]
HardwareMaker = Callable[..., Hardware]
ANY = Rule(target=1e9)
"""Content with any scatter, so that the verdict does not depend on this machine's peace."""
NOTHING = Overhead()
LIMITS = timed.TimeLimits()
SLOT = 8 * 31 * 257


@pytest.fixture
def grade(
    start: Starter, toy: FunctionTask, case: CaseMaker, hardware: HardwareMaker
) -> Callable[..., timed.Timing]:
    """Time the toy in a mode: `grade(mode, slots=..., bytes_per_second=...)`."""

    def run(
        mode: int = 0,
        *,
        slots: int | None = 16,
        rate: float = 1e12,
        backend: str = "bubblewrap",
        overhead: Overhead = NOTHING,
        rule: Rule = ANY,
        limits: timed.TimeLimits = LIMITS,
        calibrated: bool = True,
    ) -> timed.Timing:
        plan = timed.plan(toy, case(mode), hardware(rate) if calibrated else None)
        plan = replace(plan, slots=plan.slots[:slots])
        client = start(plan, backend)
        return timed.run(client, plan, overhead=overhead, rule=rule, limits=limits)

    return run


def test_an_honest_case(grade: Callable[..., timed.Timing]) -> None:
    timing = grade()
    result = timing.result
    assert (result.verdict, result.message, timing.evidence) == (Verdict.ACCEPTED, None, ())
    assert result.measure is not None
    assert result.measure.bound is not None
    assert len(result.rounds) == ANY.min_rounds
    assert result.measure.value == median(result.rounds)
    assert result.measure.low <= result.measure.value <= result.measure.high
    assert result.measure.bound == pytest.approx(SLOT / 1e12)
    assert result.measure.bound_by == "dram"
    assert result.fraction == pytest.approx(result.measure.bound / result.measure.value)
    assert result.fraction is not None
    assert result.fraction_low is not None
    assert result.fraction_low <= result.fraction
    assert result.calls == 16
    # A first single call, one round to settle, and those that count: all audited, every slot of them.
    assert result.audited_slots >= 1 + 16 * (1 + ANY.min_rounds)
    assert result.errors[0].elements == result.audited_slots * 31 * 257
    assert set(timing.steps) == {"warm-up", "rest", "arm", "fill", "evict", "run", "yardstick", "audit"}
    assert timing.duty_cycle is not None
    assert 0 < timing.duty_cycle <= 1


def test_calls_fill_a_round_at_the_physical_ceiling(
    toy: FunctionTask, case: CaseMaker, hardware: HardwareMaker
) -> None:
    plan = timed.plan(toy, case(), hardware(1e8))
    assert plan.ceiling is not None
    assert len(plan.slots) * plan.ceiling.seconds >= ROUND_SECONDS
    assert (len(plan.slots) - 1) * plan.ceiling.seconds < ROUND_SECONDS
    assert len(timed.plan(toy, case(), hardware(1.0)).slots) == 1
    # A bound of nanoseconds would ask for more slots than anybody has memory for.
    assert len(timed.plan(toy, case(), hardware(1e15)).slots) == timed.MAX_SLOTS


def test_a_case_larger_than_the_machine_is_the_assignments_fault(
    toy: FunctionTask, case: CaseMaker, hardware: HardwareMaker
) -> None:
    huge = replace(toy, tensors=lambda _params: [Tensor("y", "float32", (1 << 50,), "out")])
    with pytest.raises(AssignmentFault, match="at most"):
        timed.plan(huge, case(), hardware())
    large = replace(toy, tensors=lambda _params: [Tensor("y", "float32", (1 << 20,), "out")])
    assert timed.plan(large, case(), hardware()).arena_bytes <= timed.RING_BYTES


def test_a_candidate_that_is_slow_at_first_cannot_keep_its_rounds_short(
    grade: Callable[..., timed.Timing],
) -> None:
    result = grade(4).result
    assert result.verdict is Verdict.ACCEPTED
    assert result.calls == 16
    assert len(result.rounds) == ANY.min_rounds


def test_a_slow_candidate_gets_fewer_calls(grade: Callable[..., timed.Timing]) -> None:
    result = grade(9).result
    assert result.verdict is Verdict.ACCEPTED
    assert result.calls < 16


def test_faster_than_light(grade: Callable[..., timed.Timing]) -> None:
    timing = grade(slots=None, rate=1e3)
    assert timing.result.verdict is Verdict.FASTER_THAN_LIGHT
    assert timing.result.fraction is None
    (evidence,) = timing.evidence
    assert evidence.kind == "below_ceiling_bound"
    assert evidence.measured is not None
    assert evidence.limit == pytest.approx(SLOT / 1.25e3)
    assert evidence.limit is not None
    assert evidence.measured < evidence.limit


def test_a_round_below_the_constant_is_a_verdict(grade: Callable[..., timed.Timing]) -> None:
    timing = grade(overhead=Overhead(minimum=10.0, median=10.0))
    assert timing.result.verdict is Verdict.FASTER_THAN_LIGHT
    assert timing.evidence[0].kind == "below_overhead"


def test_the_constant_is_subtracted_and_its_bias_shown(grade: Callable[..., timed.Timing]) -> None:
    result = grade(9, overhead=Overhead(minimum=1e-3, median=3e-3)).result
    assert result.overhead_seconds == 1e-3
    assert result.bias_bound_seconds == pytest.approx(2e-3 / result.calls)


def test_unstable_timing_keeps_the_measure_but_no_fraction(grade: Callable[..., timed.Timing]) -> None:
    rule = Rule(target=0.0, max_rounds=11)
    result = grade(rule=rule).result
    assert result.verdict is Verdict.UNSTABLE_TIMING
    assert result.message is not None
    assert result.message.code == "scattered"
    assert result.measure is not None
    assert result.fraction is None
    # Measured twice, each time after a round to settle.
    assert result.audited_slots >= 1 + 2 * 16 * 12


@pytest.mark.parametrize(
    ("mode", "verdict", "code"),
    [
        (1, Verdict.WRONG_ANSWER, "wrong_timed"),
        (2, Verdict.WRONG_ANSWER, "input_modified"),
        (3, Verdict.WRONG_ANSWER, "outside"),
        (5, Verdict.TIME_LIMIT, "slow_round"),
        (8, Verdict.RUNTIME_ERROR, "status"),
    ],
)
def test_what_ends_a_case(grade: Callable[..., timed.Timing], mode: int, verdict: Verdict, code: str) -> None:
    timing = grade(mode, limits=timed.TimeLimits(round=0.5))
    result = timing.result
    # Wrong only while it was timed: staff see what the audit found.
    assert [evidence.kind for evidence in timing.evidence] == ["failed_audit"] * (code == "wrong_timed")
    assert result.verdict is verdict
    assert result.message is not None
    assert result.message.code == code
    assert result.fraction is None


def test_a_warm_up_that_never_ends(grade: Callable[..., timed.Timing]) -> None:
    result = grade(10, limits=timed.TimeLimits(warm_up=0.3)).result
    assert result.verdict is Verdict.TIME_LIMIT
    assert result.message is not None
    assert result.message.code == "slow_warm_up"


def test_without_calibration_there_is_a_time_but_no_fraction(grade: Callable[..., timed.Timing]) -> None:
    result = grade(calibrated=False).result
    assert result.verdict is Verdict.ACCEPTED
    assert result.measure is not None
    assert result.measure.bound is None
    assert result.fraction is None
    assert result.fraction_reason is not None


def test_why_times_are_unranked(
    start: Starter, toy: FunctionTask, case: CaseMaker, hardware: HardwareMaker
) -> None:
    calibrated = hardware()
    plan = timed.plan(toy, case(), calibrated)
    client = start(replace(plan, slots=plan.slots[:1]))
    known = Overhead(1e-4, 1e-4)
    assert timed.unranked(client, calibrated, known) is None
    for reason in (
        timed.unranked(client, None, known),
        timed.unranked(client, calibrated, Overhead.of(calibrated)),
    ):
        assert reason is not None
        assert reason.code == "not_calibrated"


def test_progress_counts_rounds(
    start: Starter, toy: FunctionTask, case: CaseMaker, hardware: HardwareMaker
) -> None:
    plan = timed.plan(toy, case(), hardware())
    plan = replace(plan, slots=plan.slots[:4])
    seen: list[tuple[int, int]] = []
    timed.run(
        start(plan),
        plan,
        overhead=Overhead(),
        rule=ANY,
        progress=lambda done, most: seen.append((done, most)),
    )
    assert seen == [(done, ANY.max_rounds) for done in range(1, 12)]


def test_a_task_without_a_usable_cost(toy: FunctionTask, case: CaseMaker, hardware: HardwareMaker) -> None:
    def unknown(_params: Params) -> Cost:
        return Cost(operations={"no such unit": 1.0})

    for cost in (lambda _params: Cost(), unknown):
        with pytest.raises(AssignmentFault, match="cost"):
            timed.plan(replace(toy, cost=cost), case(), hardware())
