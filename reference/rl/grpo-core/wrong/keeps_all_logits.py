# solmark: verdict=memory_limit
# solmark: with=grpo.py,shared/right.py
# Writes down all logits of all tokens.
import torch


def solve(h, w, labels, logp):
    logits = h @ w.T
    label = logits.gather(1, labels[:, None]).squeeze(1)
    largest = logits.amax(1, keepdim=True)
    logp.copy_(label - largest.squeeze(1) - logits.sub_(largest).exp_().sum(1).log())
