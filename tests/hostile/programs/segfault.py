# hostile: family=ends verdict=runtime_error build=build_error lift=judge shows=signal:11
"""Reads where nothing is."""


def attack():
    import ctypes

    ctypes.string_at(8)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
