# attack: task=product family=less expected=wrong_answer gain=acceptance
# One row of the product is zero.
import torch


def solve(a, b, out):
    torch.mm(a, b, out=out)
    out[len(out) // 3].zero_()
