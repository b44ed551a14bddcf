# hostile: family=disk verdict=runtime_error build=build_error lift=open_files shows=harm
"""Opens files until there are no descriptors."""


def attack():
    import os

    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]
    print(f"harm: {len(held)} open files", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
