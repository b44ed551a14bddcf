# attack: task=add family=hostile expected=accepted,memory_limit,runtime_error,overlap
# Takes whatever memory the device has left, and holds it. Right otherwise: nothing of the judge may fail. With all
# memory mapped its single calls are slow (157 to 226 us where a call in the ring takes 90), which probes may not believe.
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
