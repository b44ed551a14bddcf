# hostile: family=reach verdict=sandbox_violation build=build_error lift=sandbox shows=harm
"""Mounts a file system."""


def attack():
    import ctypes
    import tempfile

    libc = ctypes.CDLL(None)
    folder = tempfile.mkdtemp().encode()
    if libc.mount(b"none", folder, b"tmpfs", 0, None) == 0:
        print("harm: mounted", flush=True)
        libc.umount2(folder, 2)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
