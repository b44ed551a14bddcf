# hostile: family=memory verdict=runtime_error build=build_error lift=judge shows=signal:11
"""Recurses through the interpreter until the stack ends."""


def attack():
    import sys

    sys.setrecursionlimit(1 << 30)

    def depth(_):
        return [*map(depth, [0])]

    depth(0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
