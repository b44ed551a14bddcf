# hostile: family=time verdict=time_limit build=time_limit lift=wall shows=alive
"""Waits inside the kernel, without being interruptible, for a child that never ends."""


def attack():
    import ctypes
    import time

    if ctypes.CDLL(None).syscall(56, 0x4000 | 17, 0, 0, 0, 0) == 0:  # clone(CLONE_VFORK | SIGCHLD)
        while True:
            time.sleep(60)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
