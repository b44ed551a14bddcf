# solmark: verdict=wrong_answer
# Takes the mean over the first 90 % of the columns.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    total = res_out.float()
    part = total[:, : max(1, total.shape[1] * 9 // 10)]
    y.copy_(total * torch.rsqrt(part.pow(2).mean(1, keepdim=True) + eps) * w.float())
