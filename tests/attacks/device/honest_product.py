# attack: task=product family=honest expected=accepted
# The library's product: what the others are measured against.
import torch


def solve(a, b, out):
    torch.mm(a, b, out=out)
