# hostile: family=memory verdict=memory_limit build=memory_limit lift=memory shows=harm
"""Takes memory in files that have no name and lie in no folder."""


def attack():
    import os

    held = []
    for part in range(3):
        held.append(os.memfd_create("held"))
        for _ in range(int("@MIB@") // 3):
            os.write(held[-1], bytes(1 << 20))
    print("harm: @MIB@ MiB in memory files", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
