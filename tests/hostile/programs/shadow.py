# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Reads what only root may."""


def attack():
    try:
        open("/etc/shadow").read()
        print("harm: read /etc/shadow", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
