# solmark: verdict=wrong_answer
# Computes y and never writes the second output.
import torch


def solve(x, res, w, y, res_out, *, eps):
    total = (x + res).float()
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
