"""Is a submission faster than light, or was the machine slower than it can be when it was calibrated?

A virtual machine's memory is as fast as its neighbours leave it: single-core bandwidths of 27 to 44 GB/s
were seen on one within an hour. So nobody is accused by a stored figure alone: the ceilings are measured
again, with no candidate alive, and what is better replaces the calibration.
"""

from grader import sol
from grader.contract import Evidence, Phase, Text, TimedResult, Verdict, Yardstick
from grader.hardware import calibrate
from grader.hardware.profile import Hardware, HardwareError
from grader.judge.phases.context import Context
from grader.judge.timed import Plan, Timing
from grader.messages import text

KIND = "below_ceiling_bound"
"""Of the evidence that a bound gave; a round below the judge's own constant is another matter."""


def confirmed(context: Context, plan: Plan, timing: Timing) -> Timing:
    """The timing as it stands once the ceilings have been measured again; no candidate may be alive.

    A time that the machine now turns out to be able to reach is no verdict on the submission: the case
    counts as unstable, which is repeated, and costs nobody anything.
    """
    with context.progress.step(Phase.TIMED, "ceilings, measured again"):
        try:
            after = calibrate.raise_ceilings()
        except HardwareError as error:
            context.findings.notes.append(f"{timing.result.case}: the ceilings were not measured: {error}")
            return _unsettled(timing)
    context.findings.yardstick = yardstick(context.hardware, after)
    ceiling = sol.bound(plan.cost, after, linked=plan.case.linked, rates="ceiling").seconds
    (evidence,) = timing.evidence
    measured = evidence.measured
    assert measured is not None
    if measured < ceiling:
        return _with(timing, evidence.model_copy(update={"limit": ceiling}))
    context.findings.notes.append(
        f"{timing.result.case}: {measured:.4g} s lay below the bound at the stored ceiling "
        f"({evidence.limit:.4g} s); measured again, the ceiling's bound is {ceiling:.4g} s"
    )
    return _unsettled(timing)


def doubtful(timing: Timing) -> bool:
    """Whether a stored ceiling has accused the submission."""
    accused = timing.result.verdict is Verdict.FASTER_THAN_LIGHT
    return accused and len(timing.evidence) == 1 and timing.evidence[0].kind == KIND


def _with(timing: Timing, evidence: Evidence) -> Timing:
    return Timing(timing.result, (evidence,), timing.steps, timing.detail, timing.duty_cycle)


def _unsettled(timing: Timing) -> Timing:
    message: Text = text("stale_ceiling")
    result: TimedResult = timing.result.model_copy(
        update={"verdict": Verdict.UNSTABLE_TIMING, "message": message}
    )
    return Timing(result, (), timing.steps, timing.detail, timing.duty_cycle)


def yardstick(before: Hardware | None, after: Hardware) -> Yardstick:
    """The copy as it was stored and as it is now, for the Report."""
    stored = before.dram.score if before and before.dram else None
    found = after.dram.score if after.dram else None
    return Yardstick(copy_bytes_per_second=found, copy_calibrated=stored)
