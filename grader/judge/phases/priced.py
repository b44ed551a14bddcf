"""The timed cases of dialogues and of collectives whose messages are priced: no clock is needed."""

from collections.abc import Sequence

from grader.contract import Phase, Verdict
from grader.judge import dialogue
from grader.judge.client import Client
from grader.judge.collective import case as collective
from grader.judge.collective.group import Group
from grader.judge.collective.team import Team
from grader.judge.phases.context import Context, Ended, because
from grader.judge.prepare import Unit, case_seed
from grader.task import Case, CollectiveTask, DialogueTask


def run(context: Context) -> None:
    """Price all cases. Raises Ended if one fails, AssignmentFault, SandboxError."""
    for unit, cases in context.plan.groups(context.plan.priced()):
        client = context.must_load_for(unit, "priced", cases, Phase.TIMED)
        try:
            _price(context, client, unit, cases)
        finally:
            context.sandboxes.release(client)


def _price(context: Context, client: Client | Team | Group, unit: Unit, cases: Sequence[Case]) -> None:
    for number, case in enumerate(cases):
        context.progress.event(Phase.TIMED, case=case.id, done=number, total=len(cases))
        with context.progress.step(Phase.TIMED, f"price {unit.file}"):
            priced = _one(context, client, case)
        context.findings.timed.append(priced.result)
        context.findings.evidence.extend(priced.evidence)
        verdict = priced.result.verdict
        if verdict is not Verdict.ACCEPTED:
            context.note_output(client)
            reason = because("timed_failed", priced.result.message, case=case.id)
            raise Ended(verdict or Verdict.WRONG_ANSWER, reason)


def _one(context: Context, client: Client | Team | Group, case: Case) -> dialogue.Priced | collective.Priced:
    plan, seed = context.plan, case_seed(context.seed, case)
    task = plan.tasks[case.part]
    if isinstance(task, CollectiveTask):
        assert isinstance(client, Team)
        return collective.price(
            client,
            task,
            case,
            seed,
            entry=plan.entries[case.part],
            call_seconds=plan.call_seconds,
            watch=context.watch,
        )
    assert isinstance(task, DialogueTask)
    assert isinstance(client, Client)
    return dialogue.price(client, task, case, seed, watch=context.watch)
