# solmark: verdict=wrong_answer
# Rounds the normalised value to float16 before it multiplies by w: two roundings where one is allowed.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    normal = total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps)
    torch.mul(normal.to(x.dtype), w, out=y)
