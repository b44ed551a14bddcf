# solmark: verdict=wrong_answer
# Adds eps to the root instead of to the mean under it.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    root = total.pow(2).mean(1, keepdim=True).sqrt()
    y.copy_(total / (root + eps) * w.float())
