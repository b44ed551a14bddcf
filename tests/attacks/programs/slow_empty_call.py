# attack: family=forged-time expect=no_gain gain=time
# Sleeps where it believes a constant is measured that will be subtracted: in empty and in first calls.
import time

import torch

calls = 0


def solve(x, y):
    global calls
    calls += 1
    if x.numel() == 0 or calls <= 2:
        time.sleep(0.02)
    if x.numel() == 0:
        return
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
