# solmark: verdict=wrong_answer
# Multiplies in the next lower precision: operands rounded to three bits of mantissa, as those of float8_e4m3 are.
import torch


def low(x):
    mantissa, exponent = torch.frexp(x.float())
    return torch.ldexp((mantissa * 16).round() / 16, exponent)


def solve(a, b, c):
    c.copy_(torch.mm(low(a), low(b).T))
