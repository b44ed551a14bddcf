# hostile: family=ends verdict=runtime_error build=build_error lift=judge shows=exit:159
"""Ends with the exit code by which shells name SIGSYS."""


def attack():
    import os

    os._exit(159)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
