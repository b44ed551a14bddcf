# attack: family=doing-less expect=wrong_answer gain=acceptance
# All in float16: an error that a global norm does not see.
import torch


def solve(x, y):
    narrow = x.half()
    total = torch.sin(narrow)
    for j in range(2, 9):
        total.add_(torch.sin(j * narrow), alpha=1 / j**2)
    y.copy_(total)
