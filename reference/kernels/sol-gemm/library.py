# solmark: verdict=accepted
# The library's own call (cuBLAS on a device): the baseline that a submission should beat. As it comes it may add up
# parts of K in bfloat16, which the tests refuse.
import torch

torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def solve(a, b, c):
    torch.mm(a, b.T, out=c)
