# solmark: verdict=accepted
# solmark: with=grpo.py,shared/right.py
# What a good student writes first: the logits of a few tokens at a time, and a softmax over all words.
import torch

TOKENS = 32


def solve(h, w, labels, logp):
    head = w.float().T
    for first in range(0, len(h), TOKENS):
        part = slice(first, first + TOKENS)
        scores = torch.log_softmax(h[part].float() @ head, 1)
        logp[part] = scores.gather(1, labels[part, None]).squeeze(1)
