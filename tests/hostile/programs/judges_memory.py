# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Opens the judge's memory for writing."""


def attack():
    try:
        open("/proc/@PID@/mem", "r+b", buffering=0).close()
        print("harm: opened the judge's memory", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
