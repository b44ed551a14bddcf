# solmark: verdict=accepted
# The same operations on blocks of rows that stay in the cache from the addition to the last product, written
# straight into the outputs. Memory is touched once for each input and each output.
import torch

BLOCK = 1 << 16
"""Elements of a block: x, res, res_out and y of it (1 MiB in float32) share a core's second-level cache."""


def solve(x, res, w, y, res_out, *, eps):
    rows, columns = x.shape
    weight = w.float()
    wide = x.dtype == torch.float32
    step = max(1, BLOCK // columns)
    scratch = None if wide else torch.empty(min(step, rows), columns)
    for first in range(0, rows, step):
        block = slice(first, first + step)
        total = torch.add(x[block], res[block], out=res_out[block])
        if wide:
            target = y[block]
        else:
            target = scratch[: len(total)]
            total = target.copy_(total)
        norm = torch.linalg.vector_norm(total, dim=1, keepdim=True)
        scale = norm.square_().div_(columns).add_(eps).rsqrt_()
        torch.mul(total, scale, out=target)
        if wide:
            target.mul_(weight)
        else:
            torch.mul(target, weight, out=target)
            y[block] = target
