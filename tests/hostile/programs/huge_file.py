# hostile: family=disk verdict=runtime_error build=build_error lift=disk shows=harm
"""Writes one file larger than the disk may be."""


def attack():
    with open("/tmp/big", "wb", buffering=0) as file:
        for _ in range(300):
            if file.write(bytes(1 << 20)) < 1 << 20:
                raise OSError("full")
    print("harm: 300 MiB on disk", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
