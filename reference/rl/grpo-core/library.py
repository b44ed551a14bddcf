# solmark: verdict=accepted
# solmark: with=grpo.py,shared/right.py
# The library's own fused call, for a few tokens at a time: of all at once it keeps too much.
from torch.nn import functional

TOKENS = 32


def solve(h, w, labels, logp):
    fused = getattr(functional, "linear_cross_entropy", None)
    head = w.float()
    for first in range(0, len(h), TOKENS):
        part = slice(first, first + TOKENS)
        if fused is None:
            loss = functional.cross_entropy(h[part].float() @ head.T, labels[part], reduction="none")
        else:
            loss = fused(h[part].float(), head, labels[part], reduction="none")
        logp[part] = -loss
