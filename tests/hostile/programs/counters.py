# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Opens performance counters, which tell what others compute."""


def attack():
    import ctypes

    attributes = ctypes.create_string_buffer(b"\x01\0\0\0\x70\0\0\0" + bytes(104), 112)
    if ctypes.CDLL(None).syscall(298, attributes, 0, -1, -1, 0) >= 0:
        print("harm: a counter", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
