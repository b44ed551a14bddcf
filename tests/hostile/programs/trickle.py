# hostile: family=time verdict=time_limit build=time_limit lift=wall shows=alive
"""Prints a character now and then: always busy, never done."""


def attack():
    import os
    import time

    while True:
        os.write(1, b".")
        time.sleep(0.05)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
