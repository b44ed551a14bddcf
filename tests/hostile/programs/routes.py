# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Asks the kernel for the host's network."""


def attack():
    import socket

    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
        print("harm: a netlink socket", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
