# hostile: family=memory verdict=memory_limit build=build_error lift=judge shows=exit:1
"""Asks for more memory than there is address space: refused, not killed."""


def attack():
    held = bytearray(1 << 60)
    print("harm: an exabyte", len(held), flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
