# The right losses; a wrong solution replaces one of them.
import torch


def group_advantages(rewards, group, normalize=True):
    table = rewards.reshape(-1, group)
    centred = table - table.mean(1, keepdim=True)
    if normalize and group > 1:
        centred = centred / (table.std(1, keepdim=True) + 1e-6)
    return centred.reshape(-1)


def informative_groups(rewards, group):
    table = rewards.reshape(-1, group)
    return (table != table[:, :1]).any(1).repeat_interleave(group)


def gae(rewards, values, mask, gamma, lam):
    rewards, values = torch.where(mask, rewards, 0.0), torch.where(mask, values, 0.0)
    advantages = torch.zeros_like(values)
    later, value = torch.zeros_like(values[:, 0]), torch.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        later = rewards[:, t] + gamma * value - values[:, t] + gamma * lam * later
        advantages[:, t] = later = torch.where(mask[:, t], later, 0.0)
        value = values[:, t]
    return advantages, torch.where(mask, advantages + values, 0.0)


def aggregate(values, mask, mode, *, budget=None, total=None):
    values = torch.where(mask, values, 0.0)
    tokens = mask.sum(1)
    if mode == "token_mean":
        count = mask.sum() if total is None else total
        return values.sum() / max(1, int(count))
    per_sequence = values.sum(1) / (budget if mode == "constant" else tokens.clamp_min(1))
    count = (tokens > 0).sum() if total is None else total
    return per_sequence.sum() / max(1, int(count))


def clipped(log_ratio, advantages, low, high):
    ratio = log_ratio.exp()
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages)


def log_ratio(logp, old_logp, mask):
    return torch.where(mask, logp, 0.0) - torch.where(mask, old_logp, 0.0)


def ppo_loss(logp, old_logp, advantages, mask, *, clip, total=None):
    advantages = torch.where(mask, advantages, 0.0)
    losses = clipped(log_ratio(logp, old_logp, mask), advantages, clip, clip)
    return aggregate(losses, mask, "token_mean", total=total)


def grpo_loss(logp, old_logp, ref_logp, advantages, mask, *, clip, beta, total=None):
    losses = clipped(log_ratio(logp, old_logp, mask), advantages[:, None], clip, clip)
    away = log_ratio(ref_logp, logp, mask)
    return aggregate(losses + beta * (away.exp() - away - 1), mask, "sequence_mean", total=total)


def dr_grpo_loss(logp, old_logp, advantages, mask, *, clip, budget, total=None):
    losses = clipped(log_ratio(logp, old_logp, mask), advantages[:, None], clip, clip)
    return aggregate(losses, mask, "constant", budget=budget, total=total)


def gspo_loss(logp, old_logp, advantages, mask, *, clip_low, clip_high, total=None):
    tokens = mask.sum(1)
    mean = log_ratio(logp, old_logp, mask).sum(1) / tokens.clamp_min(1)
    losses = torch.where(tokens > 0, clipped(mean, advantages, clip_low, clip_high), 0.0)
    return losses.sum() / max(1, int((tokens > 0).sum() if total is None else total))


def dapo_loss(logp, old_logp, advantages, mask, *, clip_low, clip_high, total=None):
    losses = clipped(log_ratio(logp, old_logp, mask), advantages[:, None], clip_low, clip_high)
    return aggregate(losses, mask, "token_mean", total=total)


def opd_loss(logits, teacher_logits, mask, *, total=None):
    here = mask.unsqueeze(-1)
    logp = torch.log_softmax(torch.where(here, logits, 0.0), -1)
    logq = torch.log_softmax(torch.where(here, teacher_logits, 0.0), -1)
    return aggregate((logp.exp() * (logp - logq)).sum(-1), mask, "token_mean", total=total)


def train_step(policy, optimizer, batch):
    advantages = group_advantages(batch.rewards, batch.group)
    total = int(batch.mask.sum())
    for _ in range(batch.passes):
        optimizer.zero_grad()
        for first in range(0, len(batch.prompts), batch.micro_batch):
            part = slice(first, first + batch.micro_batch)
            loss = dapo_loss(
                policy.logp(batch.prompts[part], batch.responses[part]),
                batch.old_logp[part],
                advantages[part],
                batch.mask[part],
                clip_low=0.2,
                clip_high=0.28,
                total=total,
            )
            loss.backward()
        optimizer.step()
