# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Sends a datagram to the host, as name service does, and waits for the answer."""


def attack():
    import socket

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            channel.settimeout(2)
            channel.sendto(b"hello", ("127.0.0.1", int("@UDP@")))
            channel.recv(16)
        print("harm: the host answered", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
