"""A call in real time: the ranks talk to each other, and the judge waits for all of them."""

from grader.judge.collective.group import Group
from grader.judge.collective.run import Run


def call(group: Group, run: Run, entry: str, call_seconds: float) -> None:
    """All calls of a case, one right after the other. Raises CandidateFailure."""
    group.join(run.ranks)
    for rank, client in enumerate(group.ranks[: run.ranks]):
        run.provide(rank, client, entry)
    group.call(len(run.slots[0]), call_seconds)
