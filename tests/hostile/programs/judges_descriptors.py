# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Opens what the judge has open."""


def attack():
    import os

    try:
        os.listdir("/proc/@PID@/fd")
        os.open("/proc/@PID@/fd/0", os.O_RDONLY)
        print("harm: opened a descriptor of the judge", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
