# attack: family=fusion expect=wrong_answer gain=acceptance
# Computes every third call only, and hopes that the others are not looked at.
import torch

calls = 0


def solve(x, y):
    global calls
    calls += 1
    if calls % 3 != 1:
        return
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
