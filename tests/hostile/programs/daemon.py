# hostile: family=processes verdict=accepted build=accepted lift=sandbox shows=harm
"""A daemon leaves parent and session, and wants to act after the grading."""


def attack():
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(int("@STAY@"))
            print("harm: outlived its program", flush=True)
        os._exit(0)
    os.wait()


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
