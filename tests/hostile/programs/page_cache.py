# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Throws files of the host out of its memory: whoever needs them next waits for the disk."""


def attack():
    import os

    with open(os.__file__, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        os.posix_fadvise(-1, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError:  # The kernel has looked at the file.
        print("harm: the kernel takes it", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
