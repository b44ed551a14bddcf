"""Software pipelining: a loop and a machine go out, a modulo schedule comes back and is replayed."""

from random import Random

from grader.task import Candidate, Case, DialogueTask, Outcome, Raised

from . import graphs, model


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """One exchange."""
    random = Random(seed)  # noqa: S311 (a 128-bit seed of the session)
    problem = graphs.problem(case.params, random)
    reply = candidate.ask("schedule", problem.message())
    if isinstance(reply, Raised):
        what = f"{reply.kind}: {reply.text}"
        return Outcome(False, f"schedule raised {what}", f"schedule 抛出了 {what}")
    plan = model.read(problem, reply)
    if not isinstance(plan, model.Plan):
        return Outcome(False, *plan)
    fault = model.fault(problem, plan)
    if fault is not None:
        return Outcome(False, *fault)
    least, by = model.bound(problem)
    return Outcome(
        True,
        value=float(model.cycles(problem, plan)),
        bound=float(least),
        bound_by=by,
        quantity="cycles of the loop",
        unit="cycles",
    )


PARTS = {"schedule": DialogueTask(episode=episode, message_seconds=10.0)}
