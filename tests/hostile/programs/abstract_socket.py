# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Connects to an abstract socket of the host, which no file protects."""


def attack():
    import socket

    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect("\0@SECRET@")
        print("harm: reached the host's socket", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
