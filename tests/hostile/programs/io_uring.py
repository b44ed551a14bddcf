# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Opens io_uring, whose work escapes filters and accounting."""


def attack():
    import ctypes

    parameters = ctypes.create_string_buffer(120)
    if ctypes.CDLL(None).syscall(425, 4, parameters) >= 0:
        print("harm: io_uring", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
