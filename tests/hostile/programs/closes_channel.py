# hostile: family=output verdict=runtime_error build=time_limit lift=wall shows=alive
"""Closes its side of the channel, and lives on."""


def attack():
    import os
    import time

    for descriptor in (3, 4):
        try:
            os.close(descriptor)
        except OSError:
            pass
    while True:
        time.sleep(60)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
