# hostile: family=ends verdict=runtime_error build=build_error lift=judge shows=signal:9
"""Ends by SIGKILL, as if the kernel had taken it for want of memory."""


def attack():
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
