# hostile: family=ends verdict=time_limit build=time_limit lift=wall shows=alive
"""Ends its main thread only: a process whose leader is a zombie, deaf to some kills."""


def attack():
    import ctypes
    import threading
    import time

    threading.Thread(target=time.sleep, args=(600,)).start()
    ctypes.CDLL(None).syscall(60, 0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
