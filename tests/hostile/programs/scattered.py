# hostile: family=memory verdict=memory_limit build=memory_limit lift=memory shows=harm
"""Takes memory everywhere, nowhere much: heap, /tmp, /dev/shm and memory files."""


def attack():
    import os

    half = int("@MIB@") // 2
    heap = [bytearray(b"x") * (1 << 20) for _ in range(half)]
    for folder, count in (("/tmp", 200), ("/dev/shm", 50)):
        with open(f"{folder}/part", "wb", buffering=0) as file:
            for _ in range(count):
                file.write(bytes(1 << 20))
    nameless = os.memfd_create("part")
    for _ in range(half):
        os.write(nameless, bytes(1 << 20))
    print(f"harm: {len(heap) + half + 250} MiB", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
