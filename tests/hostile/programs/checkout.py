# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Looks for the grader's own source and the hidden cases."""


def attack():
    import os

    if os.path.exists("@ROOT@/pyproject.toml") or os.path.exists("@ROOT@/assignments"):
        print("harm: found the checkout", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
