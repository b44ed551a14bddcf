# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Connects to a socket in the host's file system, as a container runtime or a database has."""


def attack():
    import socket

    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect("@SOCKET@")
        print("harm: reached the host's socket", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
