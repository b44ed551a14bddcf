# hostile: family=reach verdict=sandbox_violation build=build_error lift=filter shows=harm
"""Removes a kernel module, if only one that does not exist."""


def attack():
    import ctypes
    import errno

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(176, b"solmark_no_such_module", 0x800) == 0 or ctypes.get_errno() != errno.EPERM:
        print("harm: may remove modules", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
