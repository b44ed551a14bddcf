# solmark: verdict=wrong_answer
# Goes along K in whole steps of 32; what is left over is not added.
import torch


def solve(a, b, c):
    whole = max(32, a.shape[1] // 32 * 32)
    c.copy_(torch.mm(a[:, :whole].float(), b[:, :whole].float().T))
