# attack: task=add family=hostile expected=accepted,memory_limit,runtime_error
# Takes whatever memory the device has left, and holds it. Right otherwise: nothing of the judge may fail.
import torch

held = []


def solve(x, y, out):
    torch.add(x, y, out=out)


size = 16 << 30
while size >= 2 << 20:
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        size //= 2
