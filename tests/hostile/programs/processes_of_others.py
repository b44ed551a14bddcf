# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Looks for processes that are not its own."""


def attack():
    import os

    if any(
        os.path.exists(f"/proc/{pid}/exe") and os.stat(f"/proc/{pid}").st_uid == 0 for pid in "@PID@".split()
    ):
        print("harm: sees the judge", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
