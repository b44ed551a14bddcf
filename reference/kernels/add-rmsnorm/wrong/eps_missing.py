# solmark: verdict=wrong_answer
# Leaves eps out: rows of zeros become NaN.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    y.copy_(total * total.pow(2).mean(1, keepdim=True).rsqrt() * w.float())
