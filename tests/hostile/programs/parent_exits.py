# hostile: family=processes verdict=runtime_error build=accepted lift=sandbox shows=harm
"""Its first process ends at once; a child goes on."""


def attack():
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        time.sleep(int("@STAY@"))
        print("harm: went on after its parent", flush=True)
    os._exit(0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
