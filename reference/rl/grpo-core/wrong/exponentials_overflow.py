# solmark: verdict=wrong_answer
# solmark: with=grpo.py,shared/right.py
# Adds up exponentials without taking the largest logit off first.
import torch


def solve(h, w, labels, logp):
    for first in range(0, len(h), 16):
        part = slice(first, first + 16)
        label = (h[part] * w[labels[part]]).sum(1)
        logp[part] = label - (h[part] @ w.T).exp().sum(1).log()
