"""From what the phases found to a score: the last, pure step of a session."""

from collections.abc import Collection, Sequence

from grader import scoring
from grader.contract import Score, TestResult, Text, TimedResult, Verdict
from grader.messages import text
from grader.spec import Spec
from grader.task import Case


def score(
    spec: Spec,
    hardware: str,
    planned: Sequence[Case],
    tests: Sequence[TestResult],
    timed: Sequence[TimedResult],
    *,
    left_out: Collection[str] = (),
    verdict: Verdict,
    unranked: Text | None,
    review: bool = False,
) -> Score:
    """The score of a grading. `planned` and `tests` are public and hidden; `unranked` says why it may not be.

    Parts `left_out` were not handed in: they earn nothing, and the rest counts. `review`: what could be
    ranked is not, before staff have looked at it.

    Raises scoring.ScoringError for numbers that no score can be made of.
    """
    fraction, reason = _fraction(timed, verdict)
    points = scoring.points(
        passed_weight=passed_weight(spec, planned, tests, left_out),
        handed_in=_weight(spec, planned, left_out),
        fraction=fraction.value if fraction else None,
        milestones=spec.milestones(hardware),
        correctness=spec.points.correctness,
        performance=spec.points.performance,
        total=spec.points.total,
    )
    if reason is not None:
        unranked = _both(unranked, reason)
    waits = review and fraction is not None and unranked is None
    return Score(
        fraction=fraction.value if fraction else None,
        low=fraction.low if fraction else None,
        high=fraction.high if fraction else None,
        fraction_reason=reason,
        points=points.total,
        correctness_points=points.correctness,
        performance_points=points.performance,
        ranked=fraction is not None and unranked is None and not waits,
        unranked_reason=text("staff_look") if waits else unranked,
        review=waits,
    )


def passed_weight(
    spec: Spec, planned: Sequence[Case], tests: Sequence[TestResult], left_out: Collection[str] = ()
) -> float:
    """Share of the parts' weight of which every planned test passed; a test that was not run did not.

    The hidden tests of all parts that were handed in pass or fail as one group: points that told which part
    failed would be more than the one bit that a student may learn of them.
    """
    passed = {test.case for test in tests if test.verdict is Verdict.ACCEPTED}
    missing = {case.part for case in planned if case.id not in passed}
    group = [case for case in planned if case.visibility == "hidden" and case.part not in left_out]
    if any(case.id not in passed for case in group):
        missing |= {case.part for case in group}
    return _weight(spec, planned, missing) if planned else 0.0


def _both(structural: Text | None, reason: Text) -> Text:
    """What keeps any time from being ranked here, and then why this submission has none."""
    if structural is None or structural == reason:
        return reason
    en, zh = f"{structural.en} {reason.en}", f"{structural.zh}{reason.zh}"
    return Text(code=structural.code, en=en[:8192], zh=zh[:8192])


def _weight(spec: Spec, planned: Sequence[Case], without: Collection[str]) -> float:
    """Share of the tested parts' weight that remains without some of them."""
    tested = {case.part for case in planned}
    total = sum(part.weight for part in spec.parts if part.name in tested)
    kept = sum(part.weight for part in spec.parts if part.name in tested and part.name not in without)
    return kept / total if total else 1.0


def _fraction(timed: Sequence[TimedResult], verdict: Verdict) -> tuple[scoring.Fraction | None, Text | None]:
    """F over all timed cases, or why there is none."""
    if verdict not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING):
        return None, text("not_accepted")
    if not timed:
        return None, text("no_timed_cases")
    fractions = []
    for result in timed:
        value, low, high = result.fraction, result.fraction_low, result.fraction_high
        if value is None or low is None or high is None:
            return None, result.fraction_reason or result.message or text("not_timed")
        fractions.append(scoring.Fraction(value, low, high))
    return scoring.combine(fractions), None
