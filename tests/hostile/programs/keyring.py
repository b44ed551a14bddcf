# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Puts a key into a keyring, where the next run would find it."""


def attack():
    import ctypes

    libc = ctypes.CDLL(None)
    if libc.syscall(248, b"user", b"solmark-hostile", b"x", 1, -1) > 0:  # the thread's own keyring
        print("harm: a key", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
