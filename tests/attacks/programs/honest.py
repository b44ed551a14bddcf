# attack: family=none expect=accepted
# The honest solution in PyTorch: the sum over j = 1..8 of sin(j x) / j^2.
import torch


def solve(x, y):
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
