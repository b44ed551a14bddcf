# hostile: family=protocol verdict=time_limit build=build_error lift=parser shows=naive:waits
"""Begins an answer and sends a byte of it now and then."""


def attack():
    import os
    import time

    os.write(4, (60000).to_bytes(4, "little"))
    for _ in range(60):
        os.write(4, b" ")
        time.sleep(0.1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
