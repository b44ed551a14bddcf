# solmark: verdict=wrong_answer
# Squares in the dtype of the input: magnitudes above 255 overflow in float16.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    mean = res_out.pow(2).float().mean(1, keepdim=True)
    y.copy_(res_out.float() * torch.rsqrt(mean + eps) * w.float())
