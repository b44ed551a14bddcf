# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Opens a socket to the hypervisor, which knows no network namespace."""


def attack():
    import socket

    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
        print("harm: a vsock socket", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
