"""The hidden tests: up to the first that fails, one bit for the student, everything for staff.

How long they took would be more than one bit, and a student sees when a verdict comes. Where it goes to one,
the phase is held until the next of a few marks. What is left: by being slow on purpose, a submission can
choose among those marks, which are as many as its calls have time for.
"""

import math
import time
from collections.abc import Sequence

from grader.contract import HiddenResult, Phase, Verdict
from grader.judge.client import Client
from grader.judge.collective.group import Group
from grader.judge.collective.team import Team
from grader.judge.failure import CandidateFailure
from grader.judge.phases.context import Context, Ended
from grader.judge.prepare import Unit
from grader.messages import text
from grader.task import Case

FIRST_MARK = 4.0
"""Seconds after the begin of the phase; on a CPU most hidden tests take two."""
LAST_DOUBLING = 64.0
"""Marks double up to here, and then come in this step: there are few of them, and none is far away."""


def run(context: Context) -> None:
    """Run the hidden tests that can run here. Raises Ended, AssignmentFault, SandboxError."""
    cases = context.plan.hidden_here()
    if not cases:
        return
    begin = time.monotonic()
    try:
        _run(context, cases)
    finally:
        if context.holds:
            with context.progress.step(Phase.HIDDEN, "hold"):
                spent = time.monotonic() - begin
                time.sleep(mark(spent) - spent)


def mark(spent: float) -> float:
    """The first mark at or after so many seconds."""
    at = FIRST_MARK
    while at < min(spent, LAST_DOUBLING):
        at *= 2
    return at if spent <= at else LAST_DOUBLING * math.ceil(spent / LAST_DOUBLING)


def _run(context: Context, cases: Sequence[Case]) -> None:
    findings = context.findings
    findings.hidden = HiddenResult(passed=None, cases=len(cases))
    passed = all(_group(context, unit, group) for unit, group in context.plan.groups(cases))
    findings.hidden = HiddenResult(passed=passed, cases=len(cases))
    if not passed:
        # The kind of failure would be a second bit.
        raise Ended(Verdict.WRONG_ANSWER, text("hidden_failed"))


def _group(context: Context, unit: Unit, cases: Sequence[Case]) -> bool:
    """Whether all cases that need one file pass."""
    try:
        client = context.load_for(unit, "hidden", cases, Phase.HIDDEN)
    except CandidateFailure as failure:
        context.findings.notes.append(f"hidden: {failure.text.en}\n{failure.detail}")
        return False
    with context.progress.step(Phase.HIDDEN, "tests"):
        passed = _pass(context, client, cases)
    context.sandboxes.release(client)
    return passed


def _pass(context: Context, client: Client | Team | Group, cases: Sequence[Case]) -> bool:
    for case in cases:
        result = context.test(client, case).result
        context.findings.hidden_detail.append(result)
        if result.verdict is not Verdict.ACCEPTED:
            return False
    return True
