# hostile: family=processes verdict=time_limit build=time_limit lift=wall shows=alive
"""Stops itself: nobody will ever continue it."""


def attack():
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
