# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Makes a device file of the first disk."""


def attack():
    import os
    import stat
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), "disk")
    try:
        os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(8, 0))
        os.unlink(path)
        print("harm: a device", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
