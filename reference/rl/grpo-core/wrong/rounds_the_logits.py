# solmark: verdict=wrong_answer
# solmark: with=grpo.py,shared/right.py
# Keeps the logits in half precision.
import torch


def solve(h, w, labels, logp):
    for first in range(0, len(h), 16):
        part = slice(first, first + 16)
        logits = (h[part] @ w.T).half().float()
        logp[part] = torch.log_softmax(logits, 1).gather(1, labels[part, None]).squeeze(1)
