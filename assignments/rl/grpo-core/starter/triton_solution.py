"""Fused log-probabilities in Triton. Hand in with: solmark grade rl/grpo-core triton_solution.py grpo.py"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(h, w, labels, logp, tokens, words, width, TOKENS: tl.constexpr):
    """One program handles some tokens; all matrices are contiguous."""
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    mask = token < tokens
    tl.store(logp + token, tl.full((TOKENS,), 1.0, tl.float32), mask)  # Your work begins here.


def solve(h: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, logp: torch.Tensor) -> None:
    """Write the log-probability of each label to logp [T], float32; return nothing."""
    tokens, width = h.shape
    kernel[(triton.cdiv(tokens, 64),)](h, w, labels, logp, tokens, len(w), width, TOKENS=64)
