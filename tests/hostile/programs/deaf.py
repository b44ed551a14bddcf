# hostile: family=time verdict=time_limit build=time_limit lift=wall shows=alive
"""Ignores every signal that can be ignored, and stays."""


def attack():
    import signal
    import time

    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
