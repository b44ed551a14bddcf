"""Software pipelining: a loop and a machine go out, a modulo schedule comes back and is replayed."""

from random import Random

from grader.task import Candidate, Case, DialogueTask, Outcome, Raised

from . import bound, brute, graphs, plan, replay

__all__ = ["PARTS", "bound", "brute", "episode", "graphs", "plan", "replay"]


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """One exchange."""
    problem = graphs.problem(case.params, Random(seed))  # noqa: S311 (a 128-bit seed of the session)
    reply = candidate.ask("schedule", problem.message())
    if isinstance(reply, Raised):
        what = f"{reply.kind}: {reply.text}"
        return Outcome(False, f"schedule raised {what}", f"schedule 抛出了 {what}")
    read = plan.read(problem, reply)
    if not isinstance(read, plan.Plan):
        return Outcome(False, *read)
    found = replay.replay(problem, read)
    if not isinstance(found, int):
        return Outcome(False, *found)
    least, by = bound.bound(problem)
    return Outcome(
        True,
        value=float(found),
        bound=float(least),
        bound_by=by,
        quantity="cycles of the loop",
        unit="cycles",
    )


PARTS = {
    "schedule": DialogueTask(episode=episode, message_seconds=10.0, brute_force=brute.outcome),
}
