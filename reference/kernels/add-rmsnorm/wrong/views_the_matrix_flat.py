# solmark: verdict=runtime_error
# Calls view(-1) on inputs that may be cut out of wider matrices: torch raises an exception.
import torch


def solve(x, res, w, y, res_out, *, eps):
    rows, columns = x.shape
    total = (x.view(-1) + res.view(-1)).view(rows, columns)
    res_out.view(-1).copy_(total.view(-1))
    total = total.float()
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
