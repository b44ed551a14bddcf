# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:called
"""Answers with numbers that are none."""


def attack():
    import os
    import time

    body = b'{"type": "called", "id": "' + b"0" * 32 + b'", "seconds": NaN, "points": Infinity}'
    os.write(4, len(body).to_bytes(4, "little") + body)
    time.sleep(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
