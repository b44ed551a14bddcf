# hostile: family=ends verdict=runtime_error build=build_error lift=judge shows=signal:6
"""Aborts itself."""


def attack():
    import os

    os.abort()


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
