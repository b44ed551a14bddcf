# solmark: verdict=accepted
# What a good student writes first: the formula, one torch operation after the other, each over the whole matrix.
import torch


def solve(x, res, w, y, res_out, *, eps):
    res_out.copy_(x + res)
    total = res_out.float()
    mean = total.pow(2).mean(dim=1, keepdim=True)
    y.copy_(total * torch.rsqrt(mean + eps) * w.float())
