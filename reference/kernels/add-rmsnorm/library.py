# solmark: verdict=accepted
# The library's own call after an addition: the baseline that a submission should beat.
import torch


def solve(x, res, w, y, res_out, *, eps):
    torch.add(x, res, out=res_out)
    y.copy_(torch.nn.functional.rms_norm(res_out, (x.shape[1],), w, eps))
