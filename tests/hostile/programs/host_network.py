# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Connects to a server on the host."""


def attack():
    import socket

    try:
        socket.create_connection(("127.0.0.1", int("@PORT@")), timeout=5).close()
        print("harm: reached the host's server", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
