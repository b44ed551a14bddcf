"""Losses of reinforcement learning. Hand in with: solmark grade rl/grpo-core solution.py grpo.py

B sequences of at most L tokens. `mask` [B, L] is true for the tokens that the policy chose; all else is padding and may
hold anything, NaN too. Losses are float64 tensors of one element, with a gradient with respect to their first argument.
`total`: how many tokens (or sequences with a token) the mean is over, if the arguments are part of a batch; None: their own.
"""

import torch


def group_advantages(rewards: torch.Tensor, group: int, normalize: bool = True) -> torch.Tensor:
    """[N] -> [N]: each reward minus the mean of its group, over the group's standard deviation if `normalize`."""
    raise NotImplementedError


def informative_groups(rewards: torch.Tensor, group: int) -> torch.Tensor:
    """[N] -> bool [N]: whether the rewards of the response's group differ (DAPO trains on no others)."""
    raise NotImplementedError


def gae(
    rewards: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, gamma: float, lam: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Generalised advantage estimates and returns, both [B, L], 0 in the padding; mask: tokens first, then padding."""
    raise NotImplementedError


def aggregate(
    values: torch.Tensor,
    mask: torch.Tensor,
    mode: str,
    *,
    budget: int | None = None,
    total: int | None = None,
) -> torch.Tensor:
    """One number of [B, L]; mode: token_mean, sequence_mean, or constant (sums over tokens, divided by `budget`)."""
    raise NotImplementedError


def ppo_loss(
    logp: torch.Tensor,
    old_logp: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip: float,
    total: int | None = None,
) -> torch.Tensor:
    """PPO: advantages [B, L]; mean over tokens."""
    raise NotImplementedError


def grpo_loss(
    logp: torch.Tensor,
    old_logp: torch.Tensor,
    ref_logp: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip: float,
    beta: float,
    total: int | None = None,
) -> torch.Tensor:
    """GRPO: advantages [B]; a KL penalty (k3); mean over a sequence's tokens, then over sequences."""
    raise NotImplementedError


def dr_grpo_loss(
    logp: torch.Tensor,
    old_logp: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip: float,
    budget: int,
    total: int | None = None,
) -> torch.Tensor:
    """Dr. GRPO: advantages [B]; sum over a sequence's tokens divided by `budget`, then mean over sequences."""
    raise NotImplementedError


def gspo_loss(
    logp: torch.Tensor,
    old_logp: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip_low: float,
    clip_high: float,
    total: int | None = None,
) -> torch.Tensor:
    """GSPO: advantages [B]; one ratio a sequence; mean over sequences."""
    raise NotImplementedError


def dapo_loss(
    logp: torch.Tensor,
    old_logp: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip_low: float,
    clip_high: float,
    total: int | None = None,
) -> torch.Tensor:
    """DAPO: advantages [B]; clips upwards by more than downwards; mean over all tokens."""
    raise NotImplementedError


def opd_loss(
    logits: torch.Tensor, teacher_logits: torch.Tensor, mask: torch.Tensor, *, total: int | None = None
) -> torch.Tensor:
    """On-policy distillation: KL(policy, teacher) over the vocabulary [B, L, V]; mean over tokens."""
    raise NotImplementedError


def train_step(policy, optimizer, batch) -> None:
    """Learn from one batch of rollouts: change `policy` by `optimizer`, which steps `batch.passes` times.

    `policy.logp(prompts, responses)` takes at most `batch.micro_batch` sequences. What `policy` and `batch` hold is
    written down in adapter.py.
    """
    raise NotImplementedError
