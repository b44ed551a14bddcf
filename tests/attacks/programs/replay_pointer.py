# attack: family=replay expect=wrong_answer gain=time
# Remembers each output by the address of its input.
import torch

memory = {}


def solve(x, y):
    if not x.numel():
        return
    place = x.data_ptr()
    if place in memory:
        y.copy_(memory[place])
        return
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
    memory[place] = y.clone()
