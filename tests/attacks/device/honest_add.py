# attack: task=add family=honest expected=accepted
# The best honest solution in Triton: what the others are measured against.
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


def solve(x, y, out):
    n = out.numel()
    add[(triton.cdiv(n, 4096),)](x, y, out, n, BLOCK=4096, num_warps=8)
