"""Where a session treats the kinds of parts differently: one place for each of its questions."""

from typing import TypeAlias

from grader.judge import correctness, dialogue
from grader.judge.authored import Watch
from grader.judge.client import Client
from grader.judge.correctness import CaseRun
from grader.judge.failure import AssignmentFault
from grader.messages import text
from grader.task import Case, DialogueTask, FunctionTask, Part

Gradable: TypeAlias = FunctionTask | DialogueTask
"""The kinds that this grader runs."""


def gradable(name: str, part: Part) -> Gradable:
    """The part, if this grader can run it. Raises AssignmentFault."""
    if not isinstance(part, FunctionTask | DialogueTask):
        sentence = text("unsupported_kind", kind=part.kind)
        raise AssignmentFault(name, sentence.en, sentence)
    return part


def arena_bytes(part: Gradable, case: Case, watch: Watch) -> int:
    """Bytes that a test needs in the arena. Raises AssignmentFault."""
    if isinstance(part, DialogueTask):
        return dialogue.arena_bytes(part, case, watch)
    return correctness.arena_bytes(part, case, watch)


def test(
    client: Client,
    part: Gradable,
    case: Case,
    seed: int,
    *,
    entry: str,
    call_seconds: float,
    watch: Watch,
) -> CaseRun:
    """Run one correctness case. Raises AssignmentFault and SandboxError."""
    if isinstance(part, DialogueTask):
        return dialogue.test(client, part, case, seed, watch=watch)
    return correctness.run(client, part, case, seed, entry=entry, call_seconds=call_seconds, watch=watch)
