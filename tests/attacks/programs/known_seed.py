# attack: family=reading-secrets expect=no_gain gain=time
# Looks for the seed in every environment it can read, makes all inputs again while it is loaded, and has the
# outputs ready before the first call.
import os
import re
from pathlib import Path

import torch

table = []


def find_seed():
    texts = ["\0".join(f"{name}={value}" for name, value in os.environ.items())]
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            texts.append(path.read_text(errors="replace"))
        except OSError:
            continue
    found = re.search(r"SEED=(\d+)", "\0".join(texts))
    return int(found[1]) if found else None


def work(x, y):
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)


def solve(x, y):
    if not x.numel():
        return
    if not table:
        torch.manual_seed(find_seed() or 0)
        for _ in range(6):
            made = torch.empty(x.shape).uniform_(-3, 3)
            right = torch.empty_like(made)
            work(made, right)
            table.append((made, right))
    for made, right in table:
        if made[0, 0] == x[0, 0]:
            y.copy_(right)
            return
    work(x, y)
