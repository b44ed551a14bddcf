# attack: task=product family=less expected=wrong_answer gain=time
# Half of the rows of the product; the others still stand from before.
import torch

calls = 0


def solve(a, b, out):
    global calls
    calls += 1
    half = a.shape[0] // 2 if calls > 8 else 0
    torch.mm(a[half:], b, out=out[half:])
