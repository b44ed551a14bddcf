# hostile: family=reach verdict=sandbox_violation build=build_error lift=sandbox shows=harm
"""Changes its root, the first half of leaving one."""


def attack():
    import os

    os.chroot("/usr")
    print("harm: another root", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
