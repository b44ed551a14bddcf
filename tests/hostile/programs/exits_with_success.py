# hostile: family=ends verdict=runtime_error build=accepted lift=judge shows=exit:0
"""Ends with exit code 0 before any answer."""


def attack():
    import os

    os._exit(0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
