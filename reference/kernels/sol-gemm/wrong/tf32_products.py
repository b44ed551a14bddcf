# solmark: verdict=wrong_answer
# Keeps ten bits of the mantissa of float32 operands, as tf32 does; the other types are right.
import torch


def low(x):
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp((mantissa * 2048).round() / 2048, exponent)


def solve(a, b, c):
    c.copy_(torch.mm(low(a.float()), low(b.float()).T))
