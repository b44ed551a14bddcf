# solmark: verdict=wrong_answer
# Normalises the float32 sum and not the rounded one that it stores: right in float32, not in float16.
import torch


def solve(x, res, w, y, res_out, *, eps):
    total = x.float() + res.float()
    res_out.copy_(total)
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
