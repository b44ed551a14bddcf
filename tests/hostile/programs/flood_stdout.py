# hostile: family=output verdict=output_limit build=accepted lift=output shows=harm
"""Prints for ever, one line without end."""


def attack():
    import os

    for _ in range(64):
        os.write(1, b"x" * 65536)
    os.write(1, b"harm: 4 MiB of output\n")


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
