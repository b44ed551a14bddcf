"""Times that are possible, but so good that staff look at them before they are ranked.

Two signs, neither of which accuses anybody: a time below the bound at the measured ceiling by more than a
margin, and a gain over the reference in one case that stands out among the submission's own. On a CPU the
ceilings are measured again first, as before an accusation (`light`): its calibration may not have seen the
machine's best minute (docs/decisions/0016-what-staff-look-at.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader import scoring, sol
from grader.contract import Evidence, Mode, Phase, Verdict
from grader.hardware import calibrate
from grader.hardware.profile import Hardware, HardwareError
from grader.judge.phases import light
from grader.judge.phases import timed as timed_phase
from grader.judge.phases.context import Context
from grader.judge.timed import Plan

ABOVE_CEILING = "above_measured_ceiling"
UNEVEN = "uneven_gain"
KINDS = frozenset({ABOVE_CEILING, UNEVEN})
"""Of the evidence that asks for a look, and is no verdict."""


@dataclass(frozen=True)
class Timed:
    """A case that was timed on this machine: its plan, and seconds of a call."""

    plan: Plan
    seconds: float


def asked(evidence: Iterable[Evidence]) -> bool:
    """Whether a look of the staff is asked for."""
    return any(item.kind in KINDS for item in evidence)


def run(context: Context, reference: Mapping[str, float]) -> None:
    """Note what staff must look at. `reference`: its fraction of the bound by timed case.

    No candidate may be alive but those that wait. For gradings that can be ranked: others need no look.
    """
    findings = context.findings
    if context.mode is not Mode.GRADE or context.once or context.hardware is None:
        return
    cases = _timed(context)
    findings.evidence.extend(above_ceiling(cases, context.hardware, lambda: _again(context)))
    findings.evidence.extend(uneven(cases, reference))


def above_ceiling(
    cases: Sequence[Timed], hardware: Hardware, again: Callable[[], Hardware]
) -> Sequence[Evidence]:
    """Evidence for each time that passes the bound at the measured ceiling by more than the margin.

    `again` gives the profile by which it is judged for good, asked only if a case needs it.
    """
    found = [case for case in cases if case.seconds < _least(case, hardware)]
    if not found:
        return ()
    hardware = again()
    return [
        Evidence(
            kind=ABOVE_CEILING,
            case=case.plan.case.id,
            measured=case.seconds,
            limit=limit,
            unit="s",
            text=f"below the bound at the measured ceiling, {limit * scoring.MEASURED_MARGIN:.4g} s, by more "
            f"than {scoring.MEASURED_MARGIN - 1:.0%}",
        )
        for case in found
        if case.seconds < (limit := _least(case, hardware))
    ]


def uneven(cases: Sequence[Timed], reference: Mapping[str, float]) -> Sequence[Evidence]:
    """Evidence for each case whose gain over the reference is more than twice the median of the gains."""
    seconds = {case.plan.case.id: case.seconds for case in cases}
    theirs = {
        case.plan.case.id: case.plan.bound.seconds / reference[case.plan.case.id]
        for case in cases
        if case.plan.bound is not None and case.plan.case.id in reference
    }
    return [
        Evidence(
            kind=UNEVEN,
            case=case,
            measured=gain,
            limit=most,
            unit="1",
            text="times faster than the reference; the limit is twice the submission's median gain",
        )
        for case, (gain, most) in scoring.uneven_gains(seconds, theirs).items()
    ]


def _least(case: Timed, hardware: Hardware) -> float:
    """The shortest time of the case that needs no look; 0 where no ceiling was measured."""
    try:
        bound = sol.bound(case.plan.cost, hardware, linked=case.plan.case.linked, rates="measured")
    except sol.SolError:
        return 0.0
    return scoring.least_unlooked(bound.seconds)


def _timed(context: Context) -> Sequence[Timed]:
    """The cases that the clock has timed; others carry prices that the judge itself computes."""
    if not timed_phase.is_timed(context):
        return ()
    plans = {plan.case.id: plan for plan in timed_phase.plans(context)}
    return [
        Timed(plans[result.case], result.measure.value)
        for result in context.findings.timed
        if result.case in plans and result.verdict is Verdict.ACCEPTED and result.measure is not None
    ]


def _again(context: Context) -> Hardware:
    """The measured ceilings as they are now: on a CPU measured again, since it may have been busy before."""
    hardware, findings = context.hardware, context.findings
    assert hardware is not None
    if context.sandboxes.device is not None:
        return hardware
    with context.progress.step(Phase.TIMED, "ceilings, measured again"), context.sandboxes.still():
        try:
            after = calibrate.raise_ceilings()
        except HardwareError as error:
            findings.notes.append(f"the ceilings were not measured again: {error}")
            return hardware
    findings.yardstick = light.yardstick(hardware, after)
    return after
