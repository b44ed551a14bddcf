# attack: family=replay expect=no_gain gain=time
# Remembers each output by a few elements of its input.
import torch

memory = {}


def solve(x, y):
    if not x.numel():
        return
    key = tuple(x[::11, ::97].flatten().tolist())
    if key in memory:
        y.copy_(memory[key])
        return
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
    memory[key] = y.clone()
