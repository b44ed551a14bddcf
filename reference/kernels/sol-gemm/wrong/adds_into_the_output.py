# solmark: verdict=wrong_answer
# Adds the parts of K into C without clearing it first: what it held before stays in.
import torch


def solve(a, b, c):
    for first in range(0, a.shape[1], 256):
        part = slice(first, first + 256)
        c.add_(torch.mm(a[:, part].float(), b[:, part].float().T).to(c.dtype))
