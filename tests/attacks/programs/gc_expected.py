# attack: family=reading-secrets expect=wrong_answer gain=time
# Searches the process for tensors that look like expected outputs, and copies one instead of computing.
import gc

import torch

memory = {}


def solve(x, y):
    if not x.numel():
        return
    place = x.data_ptr()
    if place not in memory:
        for found in gc.get_objects():
            if type(found) is torch.Tensor and found.dtype == torch.float64 and found.shape == x.shape:
                if (
                    abs(float(found[0, 0]) - sum(float(torch.sin(j * x[0, 0])) / j**2 for j in range(1, 9)))
                    < 1e-4
                ):
                    memory[place] = found
        if place not in memory:
            return
    y.copy_(memory[place])
