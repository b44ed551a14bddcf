# hostile: family=output verdict=accepted build=accepted lift=judge shows=raw
"""Prints NUL, halves of characters and bytes that are no text."""


def attack():
    import os

    os.write(1, b"\x00\xff\xfe\xc0\x80\xed\xa0\x80\xf8\x88\x80\x80\x80" + bytes(range(32)) + b"\n")
    os.write(2, b"\xf0\x9f\n")


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
