"""The right answers in float64, and what common mistakes would give: one rule, a few switches.

A rule says what a loss is; a mistake is the rule with a switch changed. Gradients are by automatic
differentiation of the rule; a test holds them against differences of its values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

EPSILON = 1e-6
"""Added to the deviation of a group's rewards."""

Given = Mapping[str, "torch.Tensor"]
Keywords = Mapping[str, Any]
Answers = dict[str, "torch.Tensor"]


@dataclass(frozen=True)
class Rule:
    """A loss over log-probabilities of tokens."""

    mean: Literal["tokens", "sequences", "constant"]
    ratio: Literal["token", "sequence", "sum"] = "token"
    """Of each token, of the sequence (geometric mean of its tokens'), or the product of its tokens'."""
    penalty: Literal["none", "k1", "k2", "k3", "k3 reversed"] = "none"
    clip: Literal["min", "always", "never"] = "min"
    symmetric: bool = False
    """Clips upwards by as much as downwards."""
    local: bool = False
    """Takes the mean over what it was given, though that is part of a batch."""
    padded: bool = False
    """Counts the padding as tokens."""
    frozen: bool = False
    """Takes the new log-probabilities for the old ones, with their gradient."""
    sign: float = -1.0


RULES: Mapping[str, Rule] = {
    "ppo_loss": Rule("tokens"),
    "grpo_loss": Rule("sequences", penalty="k3"),
    "dr_grpo_loss": Rule("constant"),
    "gspo_loss": Rule("sequences", ratio="sequence"),
    "dapo_loss": Rule("tokens"),
}


def loss(rule: Rule, given: Given, keywords: Keywords) -> Answers:
    """Value [1] and gradient [B, L] with respect to logp."""
    import torch

    logp = given["logp"].clone().requires_grad_()
    value = _loss(rule, logp, given, keywords)
    (gradient,) = torch.autograd.grad(value, logp)
    return {"value": value.detach().reshape(1), "gradient": gradient}


def _loss(rule: Rule, logp: "torch.Tensor", given: Given, keywords: Keywords) -> "torch.Tensor":
    import torch

    mask = torch.ones_like(given["mask"]) if rule.padded else given["mask"]
    advantages = given["advantages"]
    if advantages.dim() == 2:
        advantages = _only(advantages, mask)
    new = _only(logp, mask)
    change = new - (new if rule.frozen else _only(given["old_logp"], mask))
    if rule.ratio != "token":
        count = mask.sum(1).clamp_min(1) if rule.ratio == "sequence" else 1
        change = change.sum(1) / count
    elif advantages.dim() == 1:
        advantages = advantages.unsqueeze(1)
    ratio = change.exp()
    low = keywords.get("clip_low", keywords.get("clip"))
    high = low if rule.symmetric else keywords.get("clip_high", low)
    clipped = ratio.clamp(1 - low, 1 + high)
    plain, bounded = ratio * advantages, clipped * advantages
    surrogate = {"min": torch.minimum(plain, bounded), "always": bounded, "never": plain}[rule.clip]
    losses = rule.sign * surrogate
    if rule.penalty != "none":
        losses = losses + keywords["beta"] * _penalty(rule, _only(given["ref_logp"], mask) - new)
    if losses.dim() == 1:
        has = mask.any(1)
        total = keywords.get("total") if not rule.local else None
        return torch.where(has, losses, 0.0).sum() / max(1, int(has.sum()) if total is None else total)
    mode = {"tokens": "token_mean", "sequences": "sequence_mean", "constant": "constant"}[rule.mean]
    return _aggregate(losses, mask, mode, keywords, local=rule.local)


def _penalty(rule: Rule, away: "torch.Tensor") -> "torch.Tensor":
    """An estimate of the divergence from the reference by the log-ratio reference over policy."""
    if rule.penalty == "k1":
        return -away
    if rule.penalty == "k2":
        return away.square() / 2
    away = -away if rule.penalty == "k3 reversed" else away
    return away.exp() - away - 1


def _only(values: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
    """Zero outside of the mask, whatever stands there."""
    import torch

    return torch.where(mask, values, torch.zeros((), dtype=values.dtype))


def aggregate(given: Given, keywords: Keywords, *, local: bool = False, padded: bool = False) -> Answers:
    """Value [1] and gradient [B, L] with respect to values."""
    import torch

    values = given["values"].clone().requires_grad_()
    mask = torch.ones_like(given["mask"]) if padded else given["mask"]
    value = _aggregate(values, mask, keywords["mode"], keywords, local=local)
    (gradient,) = torch.autograd.grad(value, values)
    return {"value": value.detach().reshape(1), "gradient": gradient}


def _aggregate(
    values: "torch.Tensor", mask: "torch.Tensor", mode: str, keywords: Keywords, *, local: bool = False
) -> "torch.Tensor":
    values, tokens = _only(values, mask), mask.sum(1)
    total = None if local else keywords.get("total")
    if mode == "token_mean":
        return values.sum() / max(1, int(tokens.sum()) if total is None else total)
    divisor = keywords["budget"] if mode == "constant" else tokens.clamp_min(1)
    count = int((tokens > 0).sum()) if total is None else total
    return (values.sum(1) / divisor).sum() / max(1, count)


def opd_loss(
    given: Given, keywords: Keywords, *, forward: bool = False, local: bool = False, sampled: bool = False
) -> Answers:
    """Value [1] and gradient [B, L, V] with respect to logits; `forward` is the other divergence."""
    import torch

    logits = given["logits"].clone().requires_grad_()
    mask = given["mask"]
    own = torch.log_softmax(_only(logits, mask.unsqueeze(2)), 2)
    teacher = torch.log_softmax(_only(given["teacher_logits"], mask.unsqueeze(2)), 2)
    weights = teacher.exp() if forward else own.exp()
    divergence = (weights * (teacher - own if forward else own - teacher)).sum(2)
    if sampled:  # The chances by which the tokens were drawn, taken for constants.
        divergence = (weights.detach() * (own - teacher)).sum(2)
    value = _aggregate(divergence, mask, "token_mean", keywords, local=local)
    (gradient,) = torch.autograd.grad(value, logits)
    return {"value": value.detach().reshape(1), "gradient": gradient}


def group_advantages(
    given: Given, keywords: Keywords, *, population: bool = False, whole: bool = False, flip: bool = False
) -> Answers:
    """values [N]. `population` divides by n in the variance, `whole` takes the batch for one group."""
    import torch

    group = len(given["rewards"]) if whole else keywords["group"]
    table = given["rewards"].reshape(-1, group)
    centred = table - table.mean(1, keepdim=True)
    # Rewards that are all the same have no deviation, whatever the rounding of their mean.
    centred = torch.where((table == table[:, :1]).all(1, keepdim=True), torch.zeros_like(table), centred)
    if keywords["normalize"] is not flip and group > 1:
        centred = centred / (table.std(1, correction=0 if population else 1, keepdim=True) + EPSILON)
    return {"values": centred.reshape(-1)}


def informative_groups(given: Given, keywords: Keywords) -> Answers:
    """keep, bool [N]: whether the rewards of the response's group differ."""
    table = given["rewards"].reshape(-1, keywords["group"])
    differ = (table != table[:, :1]).any(1, keepdim=True)
    return {"keep": differ.expand_as(table).reshape(-1).clone()}


def gae(given: Given, keywords: Keywords, *, beyond: bool = False, reward_to_go: bool = False) -> Answers:
    """advantages and returns [B, L]. `beyond`: a value in the padding is that of the next state."""
    import torch

    mask, gamma, lam = given["mask"], keywords["gamma"], keywords["lam"]
    rewards, inside = _only(given["rewards"], mask), _only(given["values"], mask)
    values = given["values"].nan_to_num(0.0, 0.0, 0.0) if beyond else inside
    rows, length = mask.shape
    advantages = torch.zeros(rows, length, dtype=torch.float64)
    for row in range(rows):
        later, following = 0.0, 0.0
        for place in reversed(range(length)):
            value = float(values[row, place])
            if mask[row, place]:
                step = float(rewards[row, place]) + gamma * following - value
                later = step + gamma * lam * later
                advantages[row, place] = later
            following = value
    returns = torch.where(mask, advantages + inside, 0.0)
    if reward_to_go:
        returns = torch.where(mask, (rewards.flip(1).cumsum(1)).flip(1), 0.0)
    return {"advantages": advantages, "returns": returns}


def _loss_oracle(name: str) -> Callable[[Given, Keywords], Answers]:
    return lambda given, keywords: loss(RULES[name], given, keywords)


ORACLES: Mapping[str, Callable[[Given, Keywords], Answers]] = {
    "group_advantages": group_advantages,
    "informative_groups": informative_groups,
    "gae": gae,
    "aggregate": aggregate,
    "opd_loss": opd_loss,
    **{name: _loss_oracle(name) for name in RULES},
}
