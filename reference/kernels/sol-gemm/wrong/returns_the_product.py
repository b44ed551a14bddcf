# solmark: verdict=runtime_error
# Returns the product instead of writing it.
import torch


def solve(a, b, c):
    return torch.mm(a.float(), b.float().T).to(c.dtype)
