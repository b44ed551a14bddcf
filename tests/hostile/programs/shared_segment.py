# hostile: family=memory verdict=accepted build=accepted lift=sandbox shows=harm
"""Leaves a shared memory segment for the next run, and looks for that of the one before."""


def attack():
    import ctypes

    libc = ctypes.CDLL(None)
    key = 0x50_1A_4B
    if libc.shmget(key, 4096, 0o600) >= 0:
        print("harm: found what another run left", flush=True)
        libc.shmctl(libc.shmget(key, 4096, 0o600), 0, None)
    else:
        libc.shmget(key, 4096, 0o1600)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
