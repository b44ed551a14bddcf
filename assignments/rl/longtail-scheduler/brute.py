"""Tiny epochs and every list schedule of them: what the bound is held against."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from random import Random

from grader.task import Json, Outcome

from .actions import Action, Start, Train
from .bound import bound
from .model import Epoch, machine
from .simulator import Simulator

LONGEST = 6
Plan = tuple[Sequence[int], Sequence[int], Sequence[int], int]
"""Prompts in the order of their steps, rollouts in the order in which they start, the engine of each, and how
many an engine decodes side by side."""


def outcome(seed: int) -> Outcome:
    """The best list schedule of a tiny epoch, and the bound."""
    epoch = tiny(Random(seed))  # noqa: S311 (questions that nobody is graded on)
    least, by = bound(epoch)
    best = min(Simulator(epoch, _Lister(epoch, plan).decide).run() for plan in plans(epoch))
    return Outcome(True, value=best / 1e6, bound=least / 1e6, bound_by=by, unit="ms")


def tiny(random: Random) -> Epoch:
    """One to three prompts, one to four rollouts."""
    steps, group = random.choice(((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)))
    return Epoch(
        engines=random.randint(1, 2),
        slots=random.randint(1, 2),
        steps=steps,
        batch=1,
        group=group,
        prompt_tokens=tuple(random.randint(1, 512) for _ in range(steps)),
        expected=(1,) * steps,
        lengths=tuple(random.randint(1, LONGEST) for _ in range(steps * group)),
        machine=machine(random.choice((1024, 8704))),
    )


def plans(epoch: Epoch) -> Iterator[Plan]:
    """Every order of prompts and rollouts, on every engine, with every number side by side."""
    for prompts in permutations(range(epoch.prompts)):
        for order in permutations(range(epoch.group)):
            for engines in product(range(epoch.engines), repeat=len(epoch.lengths)):
                for side in range(1, epoch.slots + 1):
                    yield prompts, order, engines, side


class _Lister:
    """A scheduler that follows one plan."""

    def __init__(self, epoch: Epoch, plan: Plan) -> None:
        self.epoch = epoch
        self.prompts, self.order, self.engines, self.side = plan
        self.queue: list[int] = []
        self.open: set[int] = set()

    def decide(self, state: dict[str, Json]) -> list[Action]:
        """Start what is next wherever there is room."""
        step, engines = int(str(state["step"])), state["engines"]
        assert isinstance(engines, list)
        if state["event"] == "step":
            rollouts = self.epoch.rollouts(self.prompts[step])
            self.queue, self.open = [rollouts[place] for place in self.order], set(rollouts)
        for name in ("finished", "preempted"):
            changed = state[name]
            assert isinstance(changed, list)
            ids = [int(str(rollout)) for rollout in changed]
            if name == "finished":
                self.open.difference_update(ids)
            else:
                self.queue = ids + self.queue
        if not self.open:
            return [Train(kind="train", prompts=[self.prompts[step]])]
        held = [len(engine) if isinstance(engine, list) else 0 for engine in engines]
        actions: list[Action] = []
        for rollout in list(self.queue):
            engine = self.engines[rollout]
            if held[engine] < self.side:
                held[engine] += 1
                self.queue.remove(rollout)
                actions.append(Start(kind="start", rollout=rollout, engine=engine))
        return actions
