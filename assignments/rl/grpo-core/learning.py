"""The part `learn`: the judge samples, rewards and judges; `train_step` turns rollouts into the next policy.

Parameters of a case: `seeds` (each a secret substitution of its own, learned from scratch), `needed` (how
many of them must be learned), and optionally `steps` of learning for each.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from grader.task import Candidate, Case, DType, Outcome, Params, Raised, Refused, TensorRegion

from . import cipher
from .adapter import LENGTH, SHAPES

if TYPE_CHECKING:
    import torch

STEPS = 40
SEQUENCES = 256
"""Of a step: prompts times group."""
GROUP = 8
MICRO_BATCH = 64
PASSES = 2
RATE = 0.02
GATE = 0.9
"""Mean reward over fresh prompts, tokens sampled, from which on a substitution counts as learned."""
FRESH = 1024
MAX_WEIGHT = 1e4
"""A larger parameter makes logits that say nothing any more."""


def regions(_params: Params) -> tuple[TensorRegion, ...]:
    """The first policy and each step's rollouts go out, what was learned comes back."""
    table = (SEQUENCES, LENGTH)
    parameters: dict[str, tuple[DType, tuple[int, ...]]] = {
        name: ("float32", shape) for name, shape in SHAPES.items()
    }
    return (
        TensorRegion("policy", parameters, "to_candidate"),
        TensorRegion(
            "rollouts",
            {
                "prompts": ("int64", table),
                "responses": ("int64", table),
                "mask": ("bool", table),
                "old_logp": ("float32", table),
                "rewards": ("float32", (SEQUENCES,)),
            },
            "to_candidate",
        ),
        TensorRegion("learned", parameters, "from_candidate"),
    )


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """Learn every substitution from scratch; enough of them must be learned."""
    import numpy as np

    params = case.params
    count, needed, steps = params["seeds"], params["needed"], params.get("steps", STEPS)
    seeds = np.random.SeedSequence(seed).generate_state(count, np.uint64)
    with _one_thread():
        reached = [learn(candidate, int(one), steps) for one in seeds]
    learned = sum(reward >= GATE for reward in reached)
    shown = ", ".join(f"{reward:.3f}" for reward in reached)
    en = (
        f"{learned} of {count} substitutions were learned in {steps} steps, {needed} are needed: "
        f"mean rewards {shown}, {GATE} is the gate."
    )
    zh = (
        f"{count} 个替换在 {steps} 步内学会了 {learned} 个，需要 {needed} 个："
        f"平均奖励 {shown}，门槛为 {GATE}。"
    )
    if learned < needed:
        if max(reached) < 0.2:
            en += " Nothing was learned: look at the sign of the loss and at which rows form a group."
            zh += "完全没有学会：请检查损失的符号，以及哪些行组成一组。"
        return Outcome(False, en, zh)
    return Outcome(True, en, zh)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Tensors are so small here that a second thread makes each operation five times slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def learn(candidate: Candidate, seed: int, steps: int) -> float:
    """The mean reward of what was learned of one substitution. Raises Refused for what is no policy."""
    import torch

    world = cipher.Cipher(seed)
    policy = cipher.initial(world.random)
    candidate.write_tensors("policy", policy)
    for step in range(steps):
        prompts = world.prompts(SEQUENCES // GROUP).repeat_interleave(GROUP, 0)
        responses, mask, logp = world.sample(policy, prompts)
        rollouts = {
            "prompts": prompts,
            "responses": responses,
            "mask": mask,
            "old_logp": logp,
            "rewards": world.rewards(prompts, responses),
        }
        candidate.write_tensors("rollouts", rollouts)
        policy = _learned(candidate, step)
    prompts = world.prompts(FRESH)
    with torch.no_grad():
        responses, _, _ = world.sample(policy, prompts)
    return float(world.rewards(prompts, responses).mean())


def _learned(candidate: Candidate, step: int) -> "dict[str, torch.Tensor]":
    """The policy after one step, by names, shapes and size what was declared."""
    message: dict[str, Any] = {
        "first": step == 0,
        "group": GROUP,
        "micro_batch": MICRO_BATCH,
        "passes": PASSES,
        "rate": RATE,
    }
    reply = candidate.ask("train_step", message)
    if isinstance(reply, Raised):
        raise Refused(
            f"In step {step + 1} train_step raised {reply.kind}: {reply.text}",
            f"第 {step + 1} 步中 train_step 抛出了 {reply.kind}：{reply.text}",
        )
    if reply is not None:
        raise Refused(
            "train_step changes the policy in place and returns nothing.",
            "train_step 就地修改策略，不返回任何内容。",
        )
    policy = candidate.read_tensors("learned")
    for name, value in policy.items():
        largest = float(value.abs().max())
        if largest > MAX_WEIGHT:
            raise Refused(
                f"After step {step + 1} {name} holds {largest:.3g}; beyond {MAX_WEIGHT:g} is no policy.",
                f"第 {step + 1} 步之后 {name} 中有值为 {largest:.3g}；超过 {MAX_WEIGHT:g} 就不是策略了。",
            )
    return policy
