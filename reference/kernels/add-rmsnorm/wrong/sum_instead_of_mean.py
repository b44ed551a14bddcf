# solmark: verdict=wrong_answer
# Divides by the root of the sum of the squares (torch's normalize) instead of their mean.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    y.copy_(total * torch.rsqrt(total.pow(2).sum(1, keepdim=True) + eps) * w.float())
