# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Takes page faults into its own hands, to stop the kernel in the middle of a copy."""


def attack():
    import ctypes

    if ctypes.CDLL(None).syscall(323, 0) >= 0:
        print("harm: userfaultfd", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
