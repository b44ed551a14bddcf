# hostile: family=time verdict=time_limit build=time_limit lift=wall shows=harm
"""Sleeps beyond the limit, at no cost of CPU time."""


def attack():
    import time

    time.sleep(int("@STAY@"))
    print("harm: slept through the limit", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
