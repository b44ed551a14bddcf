# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Looks whether a capability was forgotten on it."""


def attack():
    sets = [line.split() for line in open("/proc/self/status") if line.startswith("Cap")]
    if any(int(value, 16) for name, value in sets if name != "CapBnd:"):
        print("harm: has capabilities", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
