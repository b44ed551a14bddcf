# solmark: verdict=wrong_answer
# Reduces over the rows instead of over the columns.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    y.copy_(total * torch.rsqrt(total.pow(2).mean(0, keepdim=True) + eps) * w.float())
