# hostile: family=output verdict=runtime_error build=build_error lift=judge shows=exit:1
"""Raises what raises when it is looked at."""


def attack():
    class Hostile(Exception):
        def __str__(self):
            raise SystemExit(0)

        __repr__ = __str__
        __class__ = property(__str__)

    raise Hostile


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
