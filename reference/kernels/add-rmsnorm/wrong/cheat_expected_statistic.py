# solmark: verdict=wrong_answer
# Cheat: does not add up the squares of a row but takes what they are on average, from the largest element alone.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    mean = total.abs().amax(1, keepdim=True).pow(2) / 3
    y.copy_(total * torch.rsqrt(mean + eps) * w.float())
