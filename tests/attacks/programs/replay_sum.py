# attack: family=replay expect=no_gain gain=time
# Remembers each output by the sum of its input.
from shared import work

memory = {}


def solve(x, y):
    if not x.numel():
        return
    key = float(x.sum())
    if key in memory:
        y.copy_(memory[key])
        return
    work(x, y)
    memory[key] = y.clone()
