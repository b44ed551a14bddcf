# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Makes a user namespace, in which it would be root."""


def attack():
    import ctypes
    import os

    if os.fork() == 0:
        if ctypes.CDLL(None).unshare(0x10000000) == 0:
            print("harm: a namespace of its own", flush=True)
        os._exit(0)
    os.wait()


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
