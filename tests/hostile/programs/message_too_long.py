# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:waits
"""Says that four gigabytes will come."""


def attack():
    import os
    import time

    os.write(4, b"\xff\xff\xff\xff{}")
    time.sleep(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
