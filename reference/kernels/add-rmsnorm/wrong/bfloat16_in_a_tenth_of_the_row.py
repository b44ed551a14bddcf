# solmark: verdict=wrong_answer
# Computes every tenth column in bfloat16, the next lower precision.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    total[:, ::10] = total[:, ::10].bfloat16().float()
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
