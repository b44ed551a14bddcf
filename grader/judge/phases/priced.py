"""The timed cases of dialogues: each carries a price and its bound, so that no clock is needed."""

from collections.abc import Sequence

from grader.contract import Phase, Verdict
from grader.judge import dialogue
from grader.judge.client import Client
from grader.judge.phases.context import Context, Ended, because
from grader.judge.prepare import Unit, case_seed
from grader.task import Case, DialogueTask


def run(context: Context) -> None:
    """Price all cases. Raises Ended if one fails, AssignmentFault, SandboxError."""
    for unit, cases in context.plan.groups(context.plan.priced()):
        client = context.must_load(unit, "priced", context.arena_bytes(cases), Phase.TIMED)
        try:
            _price(context, client, unit, cases)
        finally:
            context.sandboxes.release(client)


def _price(context: Context, client: Client, unit: Unit, cases: Sequence[Case]) -> None:
    for number, case in enumerate(cases):
        context.progress.event(Phase.TIMED, case=case.id, done=number, total=len(cases))
        task = context.plan.tasks[case.part]
        assert isinstance(task, DialogueTask)
        with context.progress.step(Phase.TIMED, f"price {unit.file}"):
            priced = dialogue.price(client, task, case, case_seed(context.seed, case), watch=context.watch)
        context.findings.timed.append(priced.result)
        context.findings.evidence.extend(priced.evidence)
        verdict = priced.result.verdict
        if verdict is not Verdict.ACCEPTED:
            context.note_output(client)
            reason = because("timed_failed", priced.result.message, case=case.id)
            raise Ended(verdict or Verdict.WRONG_ANSWER, reason)
