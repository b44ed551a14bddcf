# hostile: family=ends verdict=runtime_error lift=none
"""Aborts itself."""


def attack():
    import os

    os.abort()


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
