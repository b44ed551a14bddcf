# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:called
"""Gives the answer that is wanted, to a question that it has not read."""


def attack():
    import os
    import time

    for kind in ("called", "built"):
        body = b'{"type": "%b", "id": "%b"}' % (kind.encode(), os.urandom(16).hex().encode())
        os.write(4, len(body).to_bytes(4, "little") + body)
    time.sleep(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
