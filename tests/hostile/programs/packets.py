# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Listens to the packets of everybody."""


def attack():
    import socket

    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).close()
        print("harm: a packet socket", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
