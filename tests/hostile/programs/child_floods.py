# hostile: family=output verdict=output_limit build=accepted lift=output shows=harm
"""A child of its own prints what it does not."""


def attack():
    import os

    if os.fork() == 0:
        for _ in range(64):
            os.write(1, b"x" * 65536)
        os.write(1, b"harm: 4 MiB of output\n")
        os._exit(0)
    os.wait()


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
