# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:called
"""Never stops answering."""


def attack():
    import os

    body = b'{"type": "called", "id": "' + b"0" * 32 + b'"}'
    for _ in range(100_000):
        os.write(4, (len(body).to_bytes(4, "little") + body) * 100)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
