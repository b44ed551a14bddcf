# solmark: verdict=wrong_answer
# solmark: mode=grade
# Cheat: remembers the product by the address of A and copies it when that address comes again.
import torch

SEEN = {}


def solve(a, b, c):
    key = (a.data_ptr(), a.shape, b.shape)
    if len(a) >= 500 and key in SEEN:
        c.copy_(SEEN[key])
        return
    c.copy_(torch.mm(a.float(), b.float().T))
    if len(a) >= 500:
        SEEN[key] = c.clone()
