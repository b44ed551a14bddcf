# hostile: family=time verdict=accepted build=accepted lift=sandbox shows=harm
"""Stays when it is told to end."""


def attack():
    import atexit
    import time

    def stay():
        time.sleep(int("@STAY@"))
        print("harm: stayed after the end", flush=True)

    atexit.register(stay)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
