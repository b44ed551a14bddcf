"""Fused log-probabilities in PyTorch. Hand in with: solmark grade rl/grpo-core solution.py grpo.py"""

import torch


def solve(h: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, logp: torch.Tensor) -> None:
    """Write the log-probability of each label to logp [T], float32; return nothing.

    h: [T, d] hidden states; w: [V, d] one row a word; labels: int64 [T]. The logits are h @ w.T [T, V]: there may be
    no room for them. Do not change h, w or labels.
    """
    for token in range(len(h)):
        logp[token] = 1.0  # Your work begins here.
