# hostile: family=processes verdict=runtime_error build=build_error lift=processes shows=harm
"""Starts threads that wait, until no more can be started."""


def attack():
    import threading
    import time

    for _ in range(200):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    print("harm: 200 threads", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
