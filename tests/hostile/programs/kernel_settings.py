# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Opens a setting of the kernel that names a program to run on the host."""


def attack():
    import os

    try:
        os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
        print("harm: can change the kernel's settings", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
