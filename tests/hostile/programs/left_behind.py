# hostile: family=disk verdict=accepted build=accepted lift=sandbox shows=harm
"""Leaves a file for the next run, and looks for that of the one before."""


def attack():
    import os
    import tempfile

    for folder in (tempfile.gettempdir(), "/dev/shm", "/var/tmp"):
        path = os.path.join(folder, "solmark-hostile-left-behind")
        if os.path.exists(path):
            os.unlink(path)
            print("harm: found what another run left", flush=True)
        else:
            try:
                open(path, "w").close()
            except OSError:
                pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
