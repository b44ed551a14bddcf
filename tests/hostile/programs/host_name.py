# hostile: family=reach verdict=sandbox_violation build=build_error lift=sandbox shows=harm
"""Gives the machine a name: its own, so that no harm is done where it may."""


def attack():
    import ctypes
    import socket

    name = socket.gethostname().encode()
    if ctypes.CDLL(None).sethostname(name, len(name)) == 0:
        print("harm: named the machine", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
