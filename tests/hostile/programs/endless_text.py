# hostile: family=output verdict=time_limit build=time_limit lift=wall shows=alive
"""Raises an exception that never finishes saying what it is."""


def attack():
    class Hostile(Exception):
        def __str__(self):
            while True:
                pass

    raise Hostile


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
