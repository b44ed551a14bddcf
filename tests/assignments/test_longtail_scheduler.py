"""R03: what the simulator must conserve, the bound against every list schedule, the rules one by one."""

import importlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import load
from grader.task import Case, Refused

CHECKOUT = Path(__file__).parents[2]
ASSIGNMENT = load(CHECKOUT / "assignments/rl/longtail-scheduler")
TASK: Any = importlib.import_module(ASSIGNMENT.parts()["schedule"].episode.__module__)  # type: ignore[union-attr]
ACTIONS: Any = importlib.import_module(f"{TASK.__package__}.actions")
MODEL, SIMULATOR, BOUND, BRUTE = TASK.model, TASK.simulator, TASK.bound, TASK.brute
SMALL = {
    "engines": 2, "slots": 2, "kv_tokens": 16384, "steps": 2, "batch": 2, "group": 2, "noise": 0.1,
}  # fmt: skip
ACTION = {
    kind.model_fields["kind"].annotation.__args__[0]: kind
    for kind in (ACTIONS.Start, ACTIONS.Migrate, ACTIONS.Abort, ACTIONS.Train, ACTIONS.Wake)
}


def act(kind: str, **fields: Any) -> Any:
    return ACTION[kind](kind=kind, **fields)


class Fifo:
    """Starts everything in order wherever there is room; trains what is finished."""

    def __init__(self, epoch: Any, random: Random | None = None) -> None:
        self.epoch, self.random = epoch, random
        self.queue: list[int] = []
        self.left: set[int] = set()
        self.events: list[dict[str, Any]] = []

    def __call__(self, state: dict[str, Any]) -> list[Any]:
        self.events.append(state)
        epoch = self.epoch
        prompts = range(state["step"] * epoch.batch, (state["step"] + 1) * epoch.batch)
        if state["event"] == "step":
            self.queue = [rollout for prompt in prompts for rollout in epoch.rollouts(prompt)]
            self.left = set(self.queue)
        self.left -= set(state["finished"])
        self.queue = [*state["preempted"], *self.queue]
        if not self.left:
            return [act("train", prompts=list(prompts))]
        count = [len(engine) for engine in state["engines"]]
        for _, engine in state["moving"]:
            count[engine] += 1
        actions = []
        if self.random and self.random.random() < 0.3:
            actions = self.stir(state, count)
        while self.queue and min(count) < epoch.slots:
            engine = count.index(min(count))
            count[engine] += 1
            actions.append(act("start", rollout=self.queue.pop(0), engine=engine))
        return actions

    def stir(self, state: dict[str, Any], count: list[int]) -> list[Any]:
        """Migrate, abort or wake at random."""
        assert self.random is not None
        running = [(r, e) for e, engine in enumerate(state["engines"]) for r, _ in engine]
        if not running:
            return []
        rollout, engine = self.random.choice(running)
        to = count.index(min(count))
        if self.random.random() < 0.5:
            if to == engine or count[to] >= self.epoch.slots:
                return [act("wake", after_ns=self.random.randint(1, 10**7))]
            count[to] += 1
            return [act("migrate", rollout=rollout, engine=to)]
        self.queue.append(rollout)
        count[engine] -= 1
        return [act("abort", rollout=rollout)]


def epoch_of(seed: int, **changes: Any) -> Any:
    return MODEL.draw(SMALL | changes, Random(seed))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([8704, 16384]), st.integers(2, 12))
def test_no_scheduler_beats_the_bound_and_every_rollout_gets_its_tokens(
    seed: int, kv: int, slots: int
) -> None:
    epoch = epoch_of(seed, kv_tokens=kv, slots=slots, batch=4, group=3)
    fifo = Fifo(epoch, Random(seed))
    run = SIMULATOR.Simulator(epoch, fifo)
    taken = run.run()
    assert taken >= BOUND.bound(epoch)[0]
    assert run.trained == [1] * epoch.prompts
    times = [event["now_ns"] for event in fifo.events]
    assert times == sorted(times)
    for event in fifo.events:
        held = [r for engine in event["engines"] for r, _ in engine] + [r for r, _ in event["moving"]]
        assert len(held) == len(set(held))
        assert all(len(engine) <= slots for engine in event["engines"])
        assert all(done <= epoch.lengths[r] for engine in event["engines"] for r, done in engine)
    ended = [r for event in fifo.events for r in event["finished"]]
    assert sorted(ended) == list(range(len(epoch.lengths)))


def test_equal_answers_have_equal_prices() -> None:
    prices = {SIMULATOR.Simulator(epoch_of(5), Fifo(epoch_of(5))).run() for _ in range(3)}
    assert len(prices) == 1


def test_one_rollout_alone_takes_the_sum_of_its_steps() -> None:
    epoch = epoch_of(3, engines=1, slots=1, steps=1, batch=1, group=1)
    assert SIMULATOR.Simulator(epoch, Fifo(epoch)).run() == BOUND.longest(epoch, 0) == BOUND.bound(epoch)[0]


def test_memory_preempts_the_newest_and_they_keep_their_tokens() -> None:
    epoch = epoch_of(1, engines=1, slots=24, kv_tokens=8704, steps=1, batch=6, group=4)
    fifo = Fifo(epoch)
    SIMULATOR.Simulator(epoch, fifo).run()
    assert any(event["preempted"] for event in fifo.events)
    for event in fifo.events:
        for engine in event["engines"]:
            assert sum(epoch.prompt_tokens[r // 4] + done for r, done in engine[:1]) <= 8704


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds_against_every_list_schedule(seed: int) -> None:
    best = BRUTE.outcome(100 + seed)
    assert best.value >= best.bound > 0


Rule = Callable[[dict[str, Any]], list[Any]]
START = act("start", rollout=0, engine=0)


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([act("start", rollout=8, engine=0)], "there is no rollout 8"),
        ([act("start", rollout=0, engine=2)], "there is no engine 2"),
        ([START, START], "runs already"),
        ([act("start", rollout=k, engine=0) for k in range(3)], "no free slot"),
        ([act("abort", rollout=0)], "runs on no engine"),
        ([act("migrate", rollout=0, engine=0)], "runs on no engine"),
        ([START, act("migrate", rollout=0, engine=0)], "is on engine 0 already"),
        ([START, act("migrate", rollout=0, engine=1), act("abort", rollout=0)], "is on its way"),
        ([START, act("migrate", rollout=0, engine=9)], "there is no engine 9"),
        ([act("train", prompts=[0])], "2 different prompts, not 1"),
        ([act("train", prompts=[1, 1])], "2 different prompts, not 1"),
        ([act("train", prompts=[0, 9])], "rollout 0 of prompt 0 is not finished"),
        ([act("train", prompts=[9, 0])], "there is no prompt 9"),
        ([], "cannot end"),
        ([START, act("abort", rollout=0)], "cannot end"),
    ],
)
def test_a_rule_that_is_broken_is_named(actions: list[Any], words: str) -> None:
    run = SIMULATOR.Simulator(epoch_of(1), lambda _state: actions)
    with pytest.raises(Refused) as refused:
        run.run()
    assert words in refused.value.en
    assert any("\u4e00" <= letter <= "\u9fff" for letter in refused.value.zh)


def test_nothing_follows_training_and_waking_for_ever_ends() -> None:
    epoch = epoch_of(1)
    fifo = Fifo(epoch)

    def more(state: dict[str, Any]) -> list[Any]:
        actions = fifo(state)
        return [*actions, act("wake", after_ns=1)] if actions and actions[0].kind == "train" else actions

    with pytest.raises(Refused, match="comes after `train`"):
        SIMULATOR.Simulator(epoch, more).run()
    with pytest.raises(Refused, match="was not over after"):
        SIMULATOR.Simulator(epoch, lambda _state: [act("wake", after_ns=1)]).run()


def test_an_epoch_that_leaves_prompts_out_is_unfair() -> None:
    epoch = epoch_of(1)
    TASK.fair(epoch, [1, 1, 1, 1])
    with pytest.raises(Refused, match="Prompt 0 was trained 2 times and prompt 2 never, 2 of 4"):
        TASK.fair(epoch, [2, 2, 0, 0])


def test_a_plan_in_the_future_is_refused_by_its_form() -> None:
    class Echo:
        waited_ns = 0

        def ask(self, method: str, _message: Any, **_options: Any) -> Any:
            return None if method == "Scheduler" else [{"kind": "wake", "after_ns": -1}]

    with pytest.raises(Refused, match=r"after_ns is -1; it must be at least 1"):
        TASK.episode(Case("a", "schedule", "public", "test", SMALL), Echo(), 1)
