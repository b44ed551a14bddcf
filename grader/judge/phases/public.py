"""The public tests: every one is reported, also after one that crashes."""

from grader.contract import Language, Mode, Phase, TestResult, Text, Verdict
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.phases import timed
from grader.judge.phases.context import Context, Ended, because
from grader.messages import text
from grader.task import Case

MAX_RESTARTS = 3
"""Of a phase whose cases crash; the cases left over are not run."""


def start_ahead(context: Context) -> None:
    """Start the first sandbox; called before the judge loads torch itself, which takes as long."""
    if context.plan.language is not Language.CPP:
        context.sandboxes.ahead("public", context.arena_bytes(context.plan.public))


def run(context: Context) -> None:
    """Run all public tests. Raises Ended if one fails, AssignmentFault, SandboxError."""
    cases = context.plan.public
    tests = context.findings.tests
    arena_bytes = context.arena_bytes(cases)
    client: Client | None = None
    restarts = 0
    for number, case in enumerate(cases):
        context.progress.event(Phase.PUBLIC, case=case.id, done=number, total=len(cases))
        if case.id in context.plan.skipped:
            tests.append(_not_run(case, context.plan.skipped[case.id]))
            continue
        if client is None:
            if restarts > MAX_RESTARTS:
                tests.append(_not_run(case, text("not_run_restarts", count=MAX_RESTARTS)))
                continue
            client = _load(context, arena_bytes, again=restarts > 0)
            _start_next(context)
        with context.progress.step(Phase.PUBLIC, "tests"):
            result = context.test(client, case)
        tests.append(result.result)
        if not result.alive:
            context.sandboxes.release(client)
            client, restarts = None, restarts + 1
    if client is not None:
        context.sandboxes.release(client)
    context.progress.event(Phase.PUBLIC, done=len(cases), total=len(cases))
    _check(tests)


def _load(context: Context, arena_bytes: int, *, again: bool) -> Client:
    """What fails in the first sandbox in which the code is loaded is a failure to build."""
    purpose, phase = ("again", Phase.PUBLIC) if again else ("public", Phase.BUILD)
    try:
        return context.load(purpose, arena_bytes, phase)
    except CandidateFailure as failure:
        raise Ended(failure.verdict, failure.text) from None


def _start_next(context: Context) -> None:
    """Start the sandboxes of the next phases while the public tests run."""
    plan = context.plan
    if plan.language is Language.CPP:
        return  # They start in a tenth of a second.
    if context.mode is Mode.GRADE and timed.is_timed(context):
        context.sandboxes.ahead("timed", timed.arena_bytes(timed.plans(context)), pinned=True)
    if hidden := plan.hidden_here():
        context.sandboxes.ahead("hidden", context.arena_bytes(hidden))


def _check(tests: list[TestResult]) -> None:
    ran = [test for test in tests if test.verdict is not None]
    failed = [test for test in ran if test.verdict is not Verdict.ACCEPTED]
    if failed:
        first = failed[0]
        message = because("public_failed", first.message, failed=len(failed), total=len(ran), case=first.case)
        raise Ended(first.verdict or Verdict.WRONG_ANSWER, message)


def _not_run(case: Case, why: Text) -> TestResult:
    return TestResult(case=case.id, part=case.part, verdict=None, message=why, params=dict(case.params))
