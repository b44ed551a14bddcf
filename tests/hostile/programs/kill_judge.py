# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Signals the judge by its pid."""


def attack():
    import os

    try:
        os.kill(int("@PID@"), 0)
        print("harm: can signal the judge", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
