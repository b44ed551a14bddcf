"""Rollouts of heavy-tailed lengths over engines: the scheduler answers events of a simulator."""

from collections import Counter
from random import Random

from grader import typed
from grader.task import Budget, Candidate, Case, DialogueTask, Json, Outcome, Params, Refused

from . import bound, brute, model, simulator
from .actions import Action, Actions

__all__ = ["PARTS", "bound", "brute", "episode", "model", "simulator"]


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """One epoch: every event is a question, the actions are the answer."""
    epoch = model.draw(case.params, Random(seed))  # noqa: S311 (a 128-bit seed of the session)
    candidate.ask("Scheduler", [epoch.message()])

    def decide(state: dict[str, Json]) -> list[Action]:
        actions: list[Action] = typed.ask(candidate, "Scheduler.on_event", [state], Actions)
        return actions

    run = simulator.Simulator(epoch, decide)
    taken = run.run()
    fair(epoch, run.trained)
    least, by = bound.bound(epoch)
    return Outcome(
        True,
        value=taken / 1e6,
        bound=least / 1e6,
        bound_by=by,
        quantity="virtual time of the rollouts",
        unit="ms",
    )


def fair(epoch: model.Epoch, trained: list[int]) -> None:
    """Every prompt once: what is short must not be trained twice in place of what is long. Raises Refused."""
    counts = Counter({prompt: count for prompt, count in enumerate(trained) if count > 1})
    if not counts:
        return
    (prompt, count), missing = counts.most_common(1)[0], trained.index(0)
    raise Refused(
        f"Prompt {prompt} was trained {count} times and prompt {missing} never, {trained.count(0)} of "
        f"{epoch.prompts} were left out: over an epoch every prompt counts once. Long ones are not optional.",
        f"prompt {prompt} 被训练了 {count} 次，而 prompt {missing} 从未被训练，{epoch.prompts} 个中有 "
        f"{trained.count(0)} 个被遗漏：一个 epoch 中每个 prompt 只计一次，长的也不能省略。",
    )


def budget(params: Params) -> Budget:
    """An exchange for each event, and the first one."""
    rollouts = params["steps"] * params["batch"] * params["group"]
    return Budget(messages=1 + model.most_events(rollouts), message_seconds=5.0, episode_seconds=60.0)


PARTS = {
    "schedule": DialogueTask(episode=episode, budget=budget, brute_force=brute.outcome),
}
