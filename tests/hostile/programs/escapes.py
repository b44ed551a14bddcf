# hostile: family=output verdict=accepted build=accepted lift=judge shows=raw
"""Prints what commands a terminal and turns the reading direction."""


def attack():
    print("\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b1m\u202egnp.exe\u2066\r\b", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
