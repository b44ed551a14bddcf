"""The hidden tests: up to the first that fails, one bit for the student, everything for staff."""

from collections.abc import Sequence

from grader.contract import HiddenResult, Phase, Verdict
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.phases.context import Context, Ended
from grader.judge.prepare import Unit
from grader.messages import text
from grader.task import Case


def run(context: Context) -> None:
    """Run the hidden tests that can run here. Raises Ended, AssignmentFault, SandboxError."""
    cases = context.plan.hidden_here()
    findings = context.findings
    if not cases:
        return
    findings.hidden = HiddenResult(passed=None, cases=len(cases))
    passed = all(_group(context, unit, group) for unit, group in context.plan.groups(cases))
    findings.hidden = HiddenResult(passed=passed, cases=len(cases))
    if not passed:
        # The kind of failure would be a second bit.
        raise Ended(Verdict.WRONG_ANSWER, text("hidden_failed"))


def _group(context: Context, unit: Unit, cases: Sequence[Case]) -> bool:
    """Whether all cases that need one file pass."""
    try:
        client = context.load(unit, "hidden", context.arena_bytes(cases), Phase.HIDDEN)
    except CandidateFailure as failure:
        context.findings.notes.append(f"hidden: {failure.text.en}\n{failure.detail}")
        return False
    with context.progress.step(Phase.HIDDEN, "tests"):
        passed = _pass(context, client, cases)
    context.sandboxes.release(client)
    return passed


def _pass(context: Context, client: Client, cases: Sequence[Case]) -> bool:
    for case in cases:
        result = context.test(client, case).result
        context.findings.hidden_detail.append(result)
        if result.verdict is not Verdict.ACCEPTED:
            return False
    return True
