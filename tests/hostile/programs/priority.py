# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Puts itself before everybody else."""


def attack():
    import os

    for change in (
        lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    ):
        try:
            change()
            print("harm: comes first", flush=True)
        except OSError:
            pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
