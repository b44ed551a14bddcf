# solmark: verdict=wrong_answer
# Rounds the sum to the input's type after every 16 of K, as an accumulator of that type would.
import torch


def solve(a, b, c):
    c.zero_()
    for first in range(0, a.shape[1], 16):
        part = slice(first, first + 16)
        c.copy_((c.double() + a[:, part].double() @ b[:, part].double().T).to(c.dtype))
