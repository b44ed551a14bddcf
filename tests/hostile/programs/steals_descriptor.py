# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Takes an open file out of another process."""


def attack():
    import ctypes
    import os
    import signal
    import time

    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    if ctypes.CDLL(None).syscall(438, os.pidfd_open(child), 1, 0) >= 0:
        print("harm: took a descriptor", flush=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
