# solmark: verdict=wrong_answer
# Subtracts the mean of the row, as LayerNorm does.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    total = total - total.mean(1, keepdim=True)
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
