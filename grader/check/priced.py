"""Priced parts: the bound against every answer to tiny questions, hidden cases with their prices."""

import dataclasses
import statistics
from collections.abc import Iterator, Sequence

from grader.assignment import Assignment
from grader.check.finding import Finding, fails, holds, warning
from grader.contract import TimedResult
from grader.spec import CaseSpec, ToleranceSpec
from grader.task import Case, CollectiveTask, DialogueTask

TINY = 12
"""Questions that are answered by brute force."""
_SLACK = 1e-9


def bound(name: str, task: DialogueTask | CollectiveTask) -> Iterator[Finding]:
    """Nothing beats the bound of a tiny question, and something reaches it. Runs `task.py`."""
    subject = f"bound of {name}"
    if task.brute_force is None:
        yield fails(subject, "the task has no brute_force, so nothing holds the bound against every answer")
        return
    reached = 0
    for seed in range(TINY):
        best = task.brute_force(seed)
        if best.value is None or best.bound is None:
            yield fails(subject, f"brute_force({seed}) gives no value or no bound")
            return
        gap = (best.value - best.bound) * (1 if best.better == "lower" else -1)
        if gap < -_SLACK * abs(best.bound):
            text = f"brute_force({seed}) finds {best.value:g} {best.unit}, beyond the bound of {best.bound:g}"
            yield fails(subject, text)
            return
        reached += gap <= _SLACK * abs(best.bound)
    if reached:
        yield holds(
            subject, f"no answer to {TINY} tiny questions beats it; in {reached} the best one reaches it"
        )
    else:
        yield warning(subject, f"no answer to {TINY} tiny questions reaches it: is it too low?")


def exposed(assignment: Assignment, hardware: str, seed: bytes) -> Assignment | None:
    """The assignment with the hidden cases of its priced dialogues as timed ones too: they show prices.

    For authors only. None if there are none: a collective's hidden cases are tests alone, without a bound.
    """
    parts = assignment.parts()
    cases = assignment.cases(hardware, seed)
    priced = {
        case.part for case in cases if case.role == "timed" and isinstance(parts[case.part], DialogueTask)
    }
    hidden = [case for case in cases if case.visibility == "hidden" and case.part in priced]
    if not hidden:
        return None
    spec = assignment.spec.model_copy(update={"cases": (*assignment.spec.cases, *map(_timed, hidden))})
    return dataclasses.replace(assignment, spec=spec, hidden=())


def _timed(case: Case) -> CaseSpec:
    tolerance = {name: ToleranceSpec(**dataclasses.asdict(one)) for name, one in case.tolerance.items()}
    return CaseSpec(id=case.id, part=case.part, role="timed", params=dict(case.params), tolerance=tolerance)


def reaches(subject: str, results: Sequence[TimedResult], least: float) -> Finding:
    """Whether the geometric mean over the priced cases, which is what scores, comes near enough to the bound.

    Not every case: what a drawn trace lets anybody reach who does not know it differs from draw to draw.
    """
    shares = {timed.case: timed.fraction or 0.0 for timed in results}
    if not shares:
        return fails(subject, "no case is priced")
    worst = min(shares, key=lambda case: shares[case])
    mean = statistics.geometric_mean(shares.values()) if shares[worst] > 0 else 0.0
    text = f"{mean:.1%} of the bound in {len(shares)} cases ({worst}: {shares[worst]:.1%})"
    if mean < least:
        return fails(subject, f"{text}, where {least:.0%} is promised")
    return holds(subject, f"{text}; {least:.0%} is promised")
