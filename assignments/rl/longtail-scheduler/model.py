"""What an epoch is: prompts, rollouts, engines, and what a step of an engine takes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from grader.simulate import engine
from grader.task import Json

MODEL = engine.Model(parameters=1_500_000_000, layers=28, heads=12, kv_heads=2, head_size=128)
LONGEST, SHORTEST = 8192, 16
HARD = 0.12
"""Share of prompts that are hard: their rollouts are several times longer."""


def machine(kv_tokens: int) -> engine.Machine:
    """One engine: a device of 989 TFLOP/s and 4.8 TB/s, with 50 GB/s to every other one."""
    return engine.Machine(
        operations=989 * 10**12,
        dram_bytes=4_800 * 10**9,
        launch_ns=200_000,
        kv_tokens=kv_tokens,
        link_bytes=50 * 10**9,
    )


@dataclass(frozen=True)
class Epoch:
    """Everything about an epoch; `lengths` is the secret."""

    engines: int
    slots: int
    """Sequences that an engine decodes at a time."""
    steps: int
    batch: int
    """Prompts of a training step."""
    group: int
    """Rollouts of a prompt."""
    prompt_tokens: tuple[int, ...]
    expected: tuple[int, ...]
    """By prompt: tokens of a rollout, as the last epoch lets expect."""
    lengths: tuple[int, ...] = field(repr=False)
    """By rollout: tokens until it ends. Rollouts of prompt p are p * group and those behind it."""
    machine: engine.Machine

    @property
    def prompts(self) -> int:
        """As many as the steps of the epoch take together."""
        return len(self.prompt_tokens)

    @property
    def most_events(self) -> int:
        """Questions after which an epoch is given up."""
        return most_events(len(self.lengths))

    def rollouts(self, prompt: int) -> range:
        """Rollouts of a prompt."""
        return range(prompt * self.group, (prompt + 1) * self.group)

    def message(self) -> dict[str, Json]:
        """What a scheduler is told when the epoch begins."""
        return {
            "engines": self.engines,
            "slots": self.slots,
            "kv_tokens": self.machine.kv_tokens,
            "steps": self.steps,
            "batch": self.batch,
            "group": self.group,
            "prompt_tokens": list(self.prompt_tokens),
            "expected": list(self.expected),
        }


def draw(params: Mapping[str, Any], random: Random) -> Epoch:
    """An epoch of these parameters: `engines`, `slots`, `kv_tokens`, `steps`, `batch`, `group`, `noise`."""
    tokens, expected, lengths = [], [], []
    for _ in range(params["steps"] * params["batch"]):
        typical = math.exp(random.gauss(6.2, 0.45))
        if random.random() < HARD:
            typical *= random.uniform(3.0, 7.0)
        tokens.append(random.randint(64, 512))
        expected.append(_clipped(typical * math.exp(random.gauss(0.0, params["noise"]))))
        spread = [math.exp(random.gauss(0.0, 0.3)) for _ in range(params["group"])]
        lengths += [_clipped(typical * factor) for factor in spread]
    return Epoch(
        engines=params["engines"],
        slots=params["slots"],
        steps=params["steps"],
        batch=params["batch"],
        group=params["group"],
        prompt_tokens=tuple(tokens),
        expected=tuple(expected),
        lengths=tuple(lengths),
        machine=machine(params["kv_tokens"]),
    )


def most_events(rollouts: int) -> int:
    """Far more than a scheduler needs: it is asked when a rollout ends, is preempted or arrives."""
    return 400 + 12 * rollouts


def _clipped(length: float) -> int:
    return max(SHORTEST, min(LONGEST, round(length)))
