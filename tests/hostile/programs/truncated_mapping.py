# hostile: family=ends verdict=runtime_error build=build_error lift=judge shows=signal:7
"""Touches a mapping of a file that has become shorter."""


def attack():
    import ctypes
    import mmap
    import os

    file = os.memfd_create("short")
    os.ftruncate(file, 8192)
    mapping = mmap.mmap(file, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    os.ftruncate(file, 0)
    ctypes.string_at(address + 4096, 1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
