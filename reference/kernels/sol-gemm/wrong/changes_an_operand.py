# solmark: verdict=wrong_answer
# Negates A in place and takes the sign back in the end: an input must not change.
import torch


def solve(a, b, c):
    a.neg_()
    c.copy_(-torch.mm(a.float(), b.float().T))
