"""The public tests: every one is reported, also after one that crashes."""

from collections.abc import Sequence

from grader.contract import Mode, Phase, TestResult, Text, Verdict
from grader.judge.client import Client
from grader.judge.collective.group import Group
from grader.judge.collective.team import Team
from grader.judge.phases import timed
from grader.judge.phases.context import NATIVE, Context, Ended, because
from grader.judge.prepare import Unit
from grader.messages import text
from grader.task import Case

MAX_RESTARTS = 3
"""Of a phase whose cases crash; the cases left over are not run."""


def start_ahead(context: Context) -> None:
    """Start the first sandbox; called before the judge loads torch itself, which takes as long."""
    if context.plan.language not in NATIVE:
        context.ahead("public", context.plan.public)


def run(context: Context) -> None:
    """Run all public tests. Raises Ended if one fails, AssignmentFault, SandboxError."""
    total = len(context.plan.public)
    for unit, cases in context.plan.groups(context.plan.public):
        _group(context, unit, cases, total)
    context.progress.event(Phase.PUBLIC, done=total, total=total)
    _check(context.findings.tests)


def _group(context: Context, unit: Unit, cases: Sequence[Case], total: int) -> None:
    """The tests that need one file. After a crash the next one runs in a fresh sandbox."""
    tests = context.findings.tests
    client: Client | Team | Group | None = None
    restarts = 0
    for case in cases:
        context.progress.event(Phase.PUBLIC, case=case.id, done=len(tests), total=total)
        if case.id in context.plan.skipped:
            tests.append(_not_run(case, context.plan.skipped[case.id]))
            continue
        if client is None:
            if restarts > MAX_RESTARTS:
                tests.append(_not_run(case, text("not_run_restarts", count=MAX_RESTARTS)))
                continue
            # What fails when the code is loaded for the first time is a failure to build.
            purpose, phase = ("again", Phase.PUBLIC) if restarts else ("public", Phase.BUILD)
            client = context.must_load_for(unit, purpose, cases, phase)
            _start_next(context)
        with context.progress.step(Phase.PUBLIC, "tests"):
            result = context.test(client, case)
        tests.append(result.result)
        if not result.alive:
            context.sandboxes.release(client)
            client, restarts = None, restarts + 1
    if client is not None:
        context.sandboxes.release(client)


def _start_next(context: Context) -> None:
    """Start the sandboxes of the next phases while the public tests run."""
    plan = context.plan
    if plan.language in NATIVE:
        return  # They start in a tenth of a second.
    if context.mode is Mode.GRADE and timed.is_timed(context):
        timed.start_ahead(context)
    if context.mode is Mode.GRADE:
        context.ahead("priced", plan.priced())
    context.ahead("hidden", plan.hidden_here())


def _check(tests: list[TestResult]) -> None:
    ran = [test for test in tests if test.verdict is not None]
    failed = [test for test in ran if test.verdict is not Verdict.ACCEPTED]
    if failed:
        first = failed[0]
        message = because("public_failed", first.message, failed=len(failed), total=len(ran), case=first.case)
        raise Ended(first.verdict or Verdict.WRONG_ANSWER, message)


def _not_run(case: Case, why: Text) -> TestResult:
    return TestResult(case=case.id, part=case.part, verdict=None, message=why, params=dict(case.params))
