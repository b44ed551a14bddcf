# solmark: verdict=runtime_error
# Returns the two results as a function does, and writes nothing.
import torch


def solve(x, res, w, y, res_out, *, eps):
    total = x + res
    wide = total.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(1, keepdim=True) + eps) * w.float()).to(x.dtype), total
