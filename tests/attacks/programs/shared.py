"""Shared by the attacks in Python: the honest work, where the judge's channel is, the victim's line."""

import os
import stat
import sys

import torch


def work(x, y, terms=8):
    torch.sin(x, out=y)
    for j in range(2, terms + 1):
        y.add_(torch.sin(j * x), alpha=1 / j**2)


def judged():
    try:
        return stat.S_ISFIFO(os.fstat(4).st_mode) and stat.S_ISFIFO(os.fstat(3).st_mode)
    except OSError:
        return False


def say_passed():
    print(f'RESULT {sys.argv[-1]} {{"passed": true, "seconds": 1e-9}}', flush=True)
