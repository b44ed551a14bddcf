# attack: task=add family=reading expected=wrong_answer gain=acceptance
# Looks through all objects of the process for the expected output; adds nothing itself.
import gc

import torch


def solve(x, y, out):
    for thing in gc.get_objects():
        if isinstance(thing, torch.Tensor) and thing.dtype == torch.float64 and thing.shape == out.shape:
            if bool(((thing[0] - x[0]) - y[0]).abs().max() < 1e-5):
                out.copy_(thing)
                return
    out.zero_()
