# solmark: verdict=wrong_answer
# Takes B for a matrix [K, N]: the same elements in another order.
import torch


def solve(a, b, c):
    k, n = a.shape[1], b.shape[0]
    c.copy_(torch.mm(a.float(), b.contiguous().view(k, n).float()))
