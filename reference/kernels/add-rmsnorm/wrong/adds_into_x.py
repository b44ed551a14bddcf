# solmark: verdict=wrong_answer
# Adds in place into x, an input that other layers still need.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x.add_(res), 0, out=res_out)
    total = x.float()
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
