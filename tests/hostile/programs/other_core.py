# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Moves onto the judge's core."""


def attack():
    import os

    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    if len(before) > 1 and os.sched_getaffinity(0) == {min(before)}:
        print("harm: chose its core", flush=True)
    os.sched_setaffinity(0, before)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
