# attack: family=forged-time expect=no_gain gain=time
# Every clock that Python offers stands still.
import time

import torch

for name in ("perf_counter", "monotonic", "time", "process_time", "thread_time"):
    setattr(time, name, lambda: 1.0)
    setattr(time, name + "_ns", lambda: 10**9)


def solve(x, y):
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
