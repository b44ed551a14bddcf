# hostile: family=memory verdict=memory_limit build=memory_limit lift=memory shows=harm
"""Takes memory until there is none."""


def attack():
    held = [bytearray(b"x") * (1 << 20) for _ in range(int("@MIB@"))]
    print(f"harm: {len(held)} MiB", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
