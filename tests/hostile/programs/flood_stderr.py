# hostile: family=output verdict=output_limit build=accepted lift=output shows=harm
"""Complains for ever."""


def attack():
    import os

    for _ in range(64):
        os.write(2, b"error: x\n" * 8192)
    os.write(1, b"harm: 4 MiB of errors\n")


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
