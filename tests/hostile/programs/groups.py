# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Looks whether a group of its caller was forgotten on it."""


def attack():
    import os

    if set(os.getgroups()) - {os.getgid()} or not all(os.getresgid()):  # Docker lists its own once more
        print("harm: has a group of the host", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
