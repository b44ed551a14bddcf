# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Attaches to another process and could rewrite it."""


def attack():
    import ctypes
    import os
    import signal
    import time

    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    if ctypes.CDLL(None).ptrace(0x4206, child, 0, 0) == 0:
        print("harm: traces", flush=True)
    os.kill(child, signal.SIGKILL)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
