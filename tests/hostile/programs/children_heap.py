# hostile: family=memory verdict=memory_limit build=memory_limit lift=memory shows=harm
"""Takes memory in many small children, of which none is large."""


def attack():
    import os
    import time

    reader, writer = os.pipe()
    for _ in range(15):
        if os.fork() == 0:
            held = bytearray(b"x") * (int("@MIB@") // 15 << 20)
            os.write(writer, b"x")
            time.sleep(600)
            os._exit(len(held) == 0)
    os.close(writer)
    if sum(len(os.read(reader, 1)) for _ in range(15)) == 15:
        print("harm: @MIB@ MiB in children", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
