# solmark: verdict=wrong_answer
# solmark: with=grpo.py,shared/right.py
# Adds up whole tiles of 512 words alone.
import torch


def solve(h, w, labels, logp):
    whole = len(w) // 512 * 512 or len(w)
    for first in range(0, len(h), 16):
        part = slice(first, first + 16)
        label = (h[part] * w[labels[part]]).sum(1)
        logp[part] = label - (h[part] @ w[:whole].T).logsumexp(1)
