# solmark: verdict=accepted
# solmark: with=grpo.py,shared/right.py
# One kernel: tiles of logits stay in registers, only a maximum and a sum of each row of a tile are written.
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

TOKENS, WORDS, WIDTH = 128, 256, 64
LOG2E = 1.4426950408889634


@triton.jit
def tiles(
    h, w, largest, total, tokens, words, width, LOG2E: tl.constexpr,
    TOKENS: tl.constexpr, WORDS: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    down, across = tl.cdiv(tokens, TOKENS), tl.cdiv(words, WORDS)
    band = program // (GROUP * across)
    height = min(down - band * GROUP, GROUP)
    within = program % (GROUP * across)
    row, column = band * GROUP + within % height, within // height
    logits = tl.zeros((TOKENS, WORDS), tl.float32)
    for first in range(0, width, WIDTH):
        left = h.load([row * TOKENS, first])
        right = w.load([column * WORDS, first])
        logits = tl.dot(left, right.T, logits)
    word = column * WORDS + tl.arange(0, WORDS)
    logits = tl.where(word[None, :] < words, logits * LOG2E, -float("inf"))
    most = tl.max(logits, 1)
    sums = tl.sum(tl.exp2(logits - most[:, None]), 1)
    token = row * TOKENS + tl.arange(0, TOKENS)
    place = column.to(tl.int64) * tokens + token
    tl.store(largest + place, most, token < tokens)
    tl.store(total + place, sums, token < tokens)


@triton.jit
def together(
    h, w, labels, largest, total, logp, tokens, words, pieces, width, LN2: tl.constexpr,
    TOKENS: tl.constexpr, PIECES: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    mask = token < tokens
    most = tl.full((TOKENS,), -float("inf"), tl.float32)
    sums = tl.zeros((TOKENS,), tl.float32)
    for first in range(0, pieces, PIECES):
        piece = first + tl.arange(0, PIECES)
        here = (piece[:, None] < pieces) & mask[None, :]
        place = piece[:, None].to(tl.int64) * tokens + token[None, :]
        other = tl.load(largest + place, here, -float("inf"))
        part = tl.load(total + place, here, 0.0)
        higher = tl.maximum(most, tl.max(other, 0))
        higher = tl.where(mask, higher, 0.0)
        sums = sums * tl.exp2(most - higher) + tl.sum(part * tl.exp2(other - higher[None, :]), 0)
        most = higher
    # The call that is captured finds leftover labels.
    label = tl.minimum(tl.maximum(tl.load(labels + token, mask, 0), 0), words - 1)
    logit = tl.zeros((TOKENS,), tl.float32)
    for first in range(0, width, WIDTH):
        feature = first + tl.arange(0, WIDTH)
        here = mask[:, None] & (feature[None, :] < width)
        left = tl.load(h + token[:, None].to(tl.int64) * width + feature[None, :], here, 0.0)
        right = tl.load(w + label[:, None] * width + feature[None, :], here, 0.0)
        logit += tl.sum(left.to(tl.float32) * right.to(tl.float32), 1)
    tl.store(logp + token, logit - (most + tl.log2(sums)) * LN2, mask)


def solve(h, w, labels, logp, config=None):
    tokens, width = h.shape
    words = len(w)
    if width % 8:
        raise ValueError("rows of a multiple of 16 bytes are needed")
    down, across, deep, warps, stages, group = config or (
        TOKENS,
        WORDS,
        WIDTH,
        8,
        4 if width >= 2048 else 3,
        16,
    )
    pieces = triton.cdiv(words, across)
    largest = torch.empty(pieces, tokens, dtype=torch.float32, device=h.device)
    total = torch.empty_like(largest)
    tiles[(triton.cdiv(tokens, down) * pieces,)](
        TensorDescriptor(h, [tokens, width], [width, 1], [down, deep]),
        TensorDescriptor(w, [words, width], [width, 1], [across, deep]),
        largest, total, tokens, words, width, LOG2E=LOG2E,
        TOKENS=down, WORDS=across, WIDTH=deep, GROUP=group, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    together[(triton.cdiv(tokens, 16),)](
        h, w, labels, largest, total, logp, tokens, words, pieces, width,
        LN2=1 / LOG2E, TOKENS=16, PIECES=64, WIDTH=128,
    )  # fmt: skip
