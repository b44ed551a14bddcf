# hostile: family=memory verdict=memory_limit build=memory_limit lift=memory shows=harm
"""Takes memory that belongs to no process: a shared anonymous mapping."""


def attack():
    import mmap

    held = mmap.mmap(-1, int("@MIB@") << 20)
    for page in range(0, len(held), 4096):
        held[page] = 1
    print("harm: @MIB@ MiB shared", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
