# hostile: family=time verdict=time_limit build=time_limit lift=cpu shows=harm
"""Spreads its work over children, none of which uses much CPU time by itself."""


def attack():
    import os
    import time

    for _ in range(5 * int("@CPU@")):
        if os.fork() == 0:
            while time.process_time() < 0.2:
                pass
            os._exit(0)
        os.wait()
    print("harm: @CPU@ s of CPU time", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
