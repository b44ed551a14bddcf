# attack: task=product family=less expected=wrong_answer gain=time
# A product of bfloat16 on the units of float8.
import torch

one = {}


def solve(a, b, out):
    if not one:
        one["scale"] = torch.ones(1, device="cuda")
        one["left"] = torch.empty(a.shape, dtype=torch.float8_e4m3fn, device="cuda")
        one["right"] = torch.empty((b.shape[1], b.shape[0]), dtype=torch.float8_e4m3fn, device="cuda")
    if out.numel() == 0:
        return
    one["left"].copy_(a)
    one["right"].copy_(b.t())
    torch._scaled_mm(one["left"], one["right"].t(), one["scale"], one["scale"], out_dtype=out.dtype, out=out)
