# hostile: family=time verdict=time_limit build=time_limit lift=wall shows=alive
"""Computes for ever."""


def attack():
    while True:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
