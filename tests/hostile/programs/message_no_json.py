# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:UnicodeDecodeError
"""Answers with bytes that are no JSON."""


def attack():
    import os
    import time

    os.write(4, b"\x04\x00\x00\x00\x80\x04N.")
    time.sleep(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
