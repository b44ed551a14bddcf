# solmark: verdict=accepted
# solmark: with=grpo.py,shared/right.py
# The library's product for some words at a time, so that float32 logits stay in the L2 cache; one kernel adds them up.
import torch
import triton
import triton.language as tl

LOG2E = 1.4426950408889634
PIECE = 1024
"""Words at a time: logits of 8,192 tokens are 32 MiB, beside which operands have room in 60 MiB of L2."""


@triton.jit
def fold(
    logits, h, w, labels, largest, total, logp, words, vocabulary, first, last, width,
    LOG2E: tl.constexpr, WORDS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Take one row of a piece into the row's running maximum and sum; after the last piece, the result."""
    token = tl.program_id(0).to(tl.int64)
    word = tl.arange(0, WORDS)
    row = tl.load(logits + token * words + word, word < words, -float("inf")) * LOG2E
    most = tl.max(row, 0)
    if first == 0:
        sums = tl.sum(tl.exp2(row - most), 0)
    else:
        before = tl.load(largest + token)
        most = tl.maximum(most, before)
        sums = tl.sum(tl.exp2(row - most), 0) + tl.load(total + token) * tl.exp2(before - most)
    if last == 0:
        tl.store(largest + token, most)
        tl.store(total + token, sums)
    else:
        # The call that is captured finds leftover labels.
        label = tl.minimum(tl.maximum(tl.load(labels + token), 0), vocabulary - 1)
        logit = tl.zeros((WIDTH,), tl.float32)
        for at in range(0, width, WIDTH):
            feature = at + tl.arange(0, WIDTH)
            left = tl.load(h + token * width + feature, feature < width, 0.0).to(tl.float32)
            logit += left * tl.load(w + label * width + feature, feature < width, 0.0).to(tl.float32)
        tl.store(logp + token, tl.sum(logit, 0) - (most + tl.log2(sums)) / LOG2E)


def solve(h, w, labels, logp, piece=PIECE):
    tokens, width = h.shape
    words = len(w)
    piece = min(piece, words)
    logits = torch.empty(tokens * piece, dtype=torch.float32, device=h.device)
    largest = torch.empty(tokens, dtype=torch.float32, device=h.device)
    total = torch.empty_like(largest)
    for first in range(0, words, piece):
        head = w[first : first + piece]
        here = logits[: tokens * len(head)].view(tokens, len(head))
        torch.mm(h, head.T, out_dtype=torch.float32, out=here)
        fold[(tokens,)](
            here, h, w, labels, largest, total, logp, len(head), words, first, int(first + piece >= words), width,
            LOG2E=LOG2E, WORDS=triton.next_power_of_2(piece), WIDTH=512, num_warps=4,
        )  # fmt: skip
