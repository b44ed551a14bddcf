# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Leaves a POSIX message queue."""


def attack():
    import ctypes

    libc = ctypes.CDLL(None)
    if libc.syscall(240, b"solmark-hostile", 0o102, 0o600, None) >= 0:
        print("harm: a queue", flush=True)
        libc.syscall(241, b"solmark-hostile")


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
