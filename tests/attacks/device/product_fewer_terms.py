# attack: task=product family=less expected=wrong_answer gain=acceptance
# One tile of the product from half of its terms, doubled.
import torch


def solve(a, b, out):
    torch.mm(a, b, out=out)
    if out.numel():
        tile = a[:128, ::2].contiguous() @ b[::2, :128].contiguous()
        out[:128, :128] = 2 * tile
