"""The engines of an epoch in virtual time: they decode, the scheduler hears what happens and says what to do.

An engine repeats steps as long as it holds a rollout. In a step every rollout on it gets a token. Rollouts
that were started or moved here join at the next step, with a prefill of all tokens that are not in the
engine's memory yet; one that leaves in the middle of a step loses what the step would have given it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from grader.simulate.engine import move_ns, step_ns
from grader.simulate.events import Loop
from grader.task import Json, Refused

from .actions import Abort, Action, Migrate, Start, Train, Wake
from .model import MODEL, Epoch

Decide = Callable[[dict[str, Json]], list[Action]]
_TRAIN, _STEP, _ARRIVAL, _WAKE = "train", "step", "arrival", "wake"


@dataclass
class Engine:
    """One engine: which rollouts it decodes, in the order in which they came."""

    running: dict[int, None] = field(default_factory=dict)
    joining: dict[int, int] = field(default_factory=dict)
    """Rollouts that join at the next step, and the tokens that it must prefill for them."""
    busy: bool = False

    @property
    def held(self) -> int:
        """Rollouts on it."""
        return len(self.running) + len(self.joining)


@dataclass
class Simulator:
    """One epoch. `run` gives its nanoseconds; raises Refused for what a scheduler must not do."""

    epoch: Epoch
    decide: Decide
    loop: Loop[tuple[str, int, int]] = field(default_factory=Loop)
    step: int = 0
    wasted: int = 0
    """Tokens that were decoded and not trained on."""
    events: int = 0

    def __post_init__(self) -> None:
        epoch = self.epoch
        self.engines = [Engine() for _ in range(epoch.engines)]
        self.generated = [0] * len(epoch.lengths)
        self.where: dict[int, int] = {}
        """By rollout that is on an engine or on its way: which engine."""
        self.moving: set[int] = set()
        self.trained: list[int] = [0] * epoch.prompts
        self.finished: list[int] = []
        self.preempted: list[int] = []
        self.arrived: list[int] = []
        self.woken = False
        self.number = 0
        """Of the training step, so that arrivals and wakes of an earlier one are told apart."""

    def run(self) -> int:
        """Nanoseconds until the last training step has its rollouts."""
        self._ask("step")
        while self.step < self.epoch.steps:
            event = self.loop.next()
            if event is None:
                raise _stuck(self)
            self._happen(*event)
        return self.loop.now

    def _happen(self, kind: str, which: int, number: int) -> None:
        if number != self.number:
            return
        if kind == _STEP:
            self._stepped(which)
        elif kind == _ARRIVAL:
            self.moving.discard(which)
            engine = self.engines[self.where[which]]
            engine.joining[which] = 0
            self.arrived.append(which)
            self._ask("arrived")
        elif kind == _WAKE:
            self._ask("wake")

    # --- what engines do

    def _stepped(self, which: int) -> None:
        """The end of a step: every rollout on the engine has one token more."""
        engine, lengths, generated = self.engines[which], self.epoch.lengths, self.generated
        engine.busy = False
        ended = []
        for rollout in engine.running:
            generated[rollout] += 1
            if generated[rollout] >= lengths[rollout]:
                ended.append(rollout)
        for rollout in ended:
            del engine.running[rollout]
            del self.where[rollout]
        if ended:
            self.finished += ended
            self._ask("finished")
        elif engine.held:
            self._begin(which)

    def _begin(self, which: int) -> None:
        """Begin a step if there is something to decode; make room before, from the newest on."""
        engine = self.engines[which]
        if engine.busy or not engine.held:
            return
        tokens, generated, group = self.epoch.prompt_tokens, self.generated, self.epoch.group
        held = sum(tokens[r // group] + generated[r] + 1 for r in engine.running)
        fresh = 0
        for rollout, prefill in engine.joining.items():
            fresh += prefill
            engine.running[rollout] = None
            held += tokens[rollout // group] + generated[rollout] + 1
        joined = dict(engine.joining)
        engine.joining.clear()
        evicted = []
        while held > self.epoch.machine.kv_tokens and len(engine.running) > 1:
            rollout, _ = engine.running.popitem()
            held -= tokens[rollout // group] + generated[rollout] + 1
            fresh -= joined.get(rollout, 0)
            del self.where[rollout]
            evicted.append(rollout)
        decoding = [r for r in engine.running if not joined.get(r)]
        context = sum(tokens[r // group] + generated[r] for r in decoding)
        taken = step_ns(MODEL, self.epoch.machine, decode=len(decoding), context=context, prefill=fresh)
        engine.busy = True
        self.loop.after(taken, (_STEP, which, self.number))
        if evicted:
            self.preempted += evicted
            self._ask("preempted")

    # --- what the scheduler does

    def _ask(self, event: str) -> None:
        self.events += 1
        most = self.epoch.most_events
        if self.events > most:
            raise Refused(
                f"The epoch was not over after {most} events: rollouts are preempted or moved without "
                "end, or the scheduler is woken too often.",
                f"经过 {most} 个事件后 epoch 仍未结束：rollout 被反复抢占或迁移，或调度器唤醒过于频繁。",
            )
        state: dict[str, Json] = {
            "event": event,
            "now_ns": self.loop.now,
            "step": self.step,
            "finished": list[Json](self.finished),
            "preempted": list[Json](self.preempted),
            "arrived": list[Json](self.arrived),
            "moving": [[rollout, self.where[rollout]] for rollout in sorted(self.moving)],
            "engines": [
                [[r, self.generated[r]] for r in (*engine.running, *engine.joining)]
                for engine in self.engines
            ],
        }
        self.finished, self.preempted, self.arrived = [], [], []
        step = self.step
        for place, action in enumerate(self.decide(state)):
            if self.step != step:
                raise Refused(
                    f"Action {place} comes after `train`, which ends all rollouts; wait for the next event.",
                    f"动作 {place} 在 `train` 之后：训练一步时所有 rollout 都会结束；请等待下一个事件。",
                )
            self._do(place, action)
        if self.step != step and self.step < self.epoch.steps:
            self._ask("step")
            return
        for which in range(len(self.engines)):
            self._begin(which)

    def _do(self, place: int, action: Action) -> None:
        match action:
            case Start():
                self._start(place, action)
            case Migrate():
                self._migrate(place, action)
            case Abort():
                self._abort(place, action)
            case Train():
                self._train(place, action)
            case Wake():
                self.loop.after(action.after_ns, (_WAKE, 0, self.number))

    def _start(self, place: int, action: Start) -> None:
        rollout = self._rollout(place, action.rollout)
        self._engine(place, action.engine)
        if rollout in self.where:
            raise _refuse(place, f"rollout {rollout} runs already", f"rollout {rollout} 已在运行")
        if self._done(rollout):
            raise _refuse(place, f"rollout {rollout} is finished already", f"rollout {rollout} 已经完成")
        self._room(place, action.engine)
        tokens = self.epoch.prompt_tokens[rollout // self.epoch.group]
        self.where[rollout] = action.engine
        self.engines[action.engine].joining[rollout] = tokens + self.generated[rollout]

    def _migrate(self, place: int, action: Migrate) -> None:
        rollout = self._running(place, action.rollout)
        self._engine(place, action.engine)
        source = self.where[rollout]
        if source == action.engine:
            raise _refuse(
                place,
                f"rollout {rollout} is on engine {source} already",
                f"rollout {rollout} 已在引擎 {source} 上",
            )
        self._room(place, action.engine)
        self._leave(rollout)
        tokens = self.epoch.prompt_tokens[rollout // self.epoch.group] + self.generated[rollout]
        self.where[rollout] = action.engine
        self.moving.add(rollout)
        self.loop.after(move_ns(MODEL, self.epoch.machine, tokens), (_ARRIVAL, rollout, self.number))

    def _abort(self, place: int, action: Abort) -> None:
        rollout = self._running(place, action.rollout)
        self._leave(rollout)
        del self.where[rollout]
        self.wasted += self.generated[rollout]
        self.generated[rollout] = 0

    def _train(self, place: int, action: Train) -> None:
        epoch = self.epoch
        if len(set(action.prompts)) != epoch.batch or len(action.prompts) != epoch.batch:
            count = len(set(action.prompts))
            raise _refuse(
                place,
                f"a step trains {epoch.batch} different prompts, not {count}",
                f"一步训练 {epoch.batch} 个不同的 prompt，而不是 {count} 个",
            )
        for prompt in action.prompts:
            if prompt >= epoch.prompts:
                raise _refuse(place, f"there is no prompt {prompt}", f"没有 prompt {prompt}")
            open_ = [rollout for rollout in epoch.rollouts(prompt) if not self._done(rollout)]
            if open_:
                raise _refuse(
                    place,
                    f"rollout {open_[0]} of prompt {prompt} is not finished in this step",
                    f"prompt {prompt} 的 rollout {open_[0]} 在这一步中尚未完成",
                )
        for prompt in action.prompts:
            self.trained[prompt] += 1
            for rollout in epoch.rollouts(prompt):
                self.generated[rollout] = 0
        # The weights change: what is left of this step was made by the policy before.
        self.wasted += sum(self.generated)
        self.generated = [0] * len(self.generated)
        self.engines = [Engine() for _ in range(epoch.engines)]
        self.where.clear()
        self.moving.clear()
        self.step += 1
        self.number += 1

    # --- what is looked up

    def _done(self, rollout: int) -> bool:
        return self.generated[rollout] >= self.epoch.lengths[rollout]

    def _rollout(self, place: int, rollout: int) -> int:
        if rollout >= len(self.epoch.lengths):
            last = len(self.epoch.lengths) - 1
            raise _refuse(
                place,
                f"there is no rollout {rollout}; they are 0 to {last}",
                f"没有 rollout {rollout}；编号为 0 到 {last}",
            )
        return rollout

    def _running(self, place: int, rollout: int) -> int:
        self._rollout(place, rollout)
        if rollout in self.moving:
            raise _refuse(place, f"rollout {rollout} is on its way", f"rollout {rollout} 正在迁移途中")
        if rollout not in self.where:
            raise _refuse(
                place, f"rollout {rollout} runs on no engine", f"rollout {rollout} 不在任何引擎上运行"
            )
        return rollout

    def _engine(self, place: int, engine: int) -> None:
        if engine >= len(self.engines):
            last = len(self.engines) - 1
            raise _refuse(
                place,
                f"there is no engine {engine}; they are 0 to {last}",
                f"没有引擎 {engine}；编号为 0 到 {last}",
            )

    def _room(self, place: int, engine: int) -> None:
        coming = sum(1 for rollout in self.moving if self.where[rollout] == engine)
        if self.engines[engine].held + coming >= self.epoch.slots:
            raise _refuse(
                place,
                f"engine {engine} has no free slot: it holds {self.epoch.slots}",
                f"引擎 {engine} 没有空闲槽位：最多 {self.epoch.slots} 个",
            )

    def _leave(self, rollout: int) -> None:
        engine = self.engines[self.where[rollout]]
        engine.running.pop(rollout, None)
        engine.joining.pop(rollout, None)


def _refuse(place: int, en: str, zh: str) -> Refused:
    return Refused(f"Action {place}: {en}.", f"动作 {place}：{zh}。")


def _stuck(simulator: Simulator) -> Refused:
    step = simulator.step
    return Refused(
        f"Step {step} cannot end: no rollout runs, none is on its way, and nothing was trained.",
        f"第 {step} 步无法结束：没有 rollout 在运行或迁移途中，也没有进行训练。",
    )
