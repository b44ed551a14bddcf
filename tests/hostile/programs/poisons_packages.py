# hostile: family=disk verdict=accepted build=accepted lift=sandbox shows=harm
"""Puts a module where every later program imports from."""


def attack():
    import os
    import sysconfig

    path = os.path.join(sysconfig.get_paths()["purelib"], "solmark_hostile.py")
    try:
        open(path, "x").close()
        os.unlink(path)
        print("harm: wrote a module", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
