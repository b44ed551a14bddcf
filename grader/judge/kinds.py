"""Where a session treats the kinds of parts differently: one place for each of its questions."""

from typing import TypeAlias

from grader.judge import correctness, dialogue
from grader.judge.authored import Watch
from grader.judge.client import Client
from grader.judge.collective import authored as collectives
from grader.judge.collective import case as collective
from grader.judge.collective.group import Group
from grader.judge.collective.team import Team
from grader.judge.correctness import CaseRun
from grader.judge.failure import AssignmentFault
from grader.messages import text
from grader.task import Case, CollectiveTask, DialogueTask, FunctionTask, Part

Gradable: TypeAlias = FunctionTask | DialogueTask | CollectiveTask
"""The kinds that this grader runs."""


def gradable(name: str, part: Part, *, on_device: bool = False) -> Gradable:
    """The part, if this grader can run it there. Raises AssignmentFault."""
    if on_device and isinstance(part, CollectiveTask) and not part.priced:
        sentence = text("unsupported_kind", kind=part.kind)
        raise AssignmentFault(name, sentence.en, sentence)
    return part


def arena_bytes(part: Gradable, case: Case, watch: Watch) -> int:
    """Bytes that a test needs in the arena. Raises AssignmentFault."""
    if isinstance(part, DialogueTask):
        return dialogue.arena_bytes(part, case, watch)
    if isinstance(part, CollectiveTask):
        return collective.arena_bytes(part, case, watch)
    return correctness.arena_bytes(part, case, watch)


def ranks(part: Gradable, case: Case, watch: Watch) -> int:
    """Sandboxes that a case needs at the same time. Raises AssignmentFault."""
    return collectives.ranks(part, case, watch) if isinstance(part, CollectiveTask) else 1


def signature(entry: str, part: Gradable, case: Case, watch: Watch) -> str:
    """How the student's function is called; empty for a dialogue, which has none. Raises AssignmentFault."""
    if isinstance(part, FunctionTask):
        return correctness.signature(entry, part, case, watch)
    return collectives.signature(entry, part, case, watch) if isinstance(part, CollectiveTask) else ""


def test(
    client: Client | Team | Group,
    part: Gradable,
    case: Case,
    seed: int,
    *,
    entry: str,
    call_seconds: float,
    watch: Watch,
) -> CaseRun:
    """Run one correctness case. Raises AssignmentFault and SandboxError."""
    if isinstance(part, CollectiveTask):
        assert isinstance(client, Team | Group)
        return collective.test(client, part, case, seed, entry=entry, call_seconds=call_seconds, watch=watch)
    assert isinstance(client, Client)
    if isinstance(part, DialogueTask):
        return dialogue.test(client, part, case, seed, watch=watch)
    return correctness.run(client, part, case, seed, entry=entry, call_seconds=call_seconds, watch=watch)
