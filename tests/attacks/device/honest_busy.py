# attack: task=busy family=honest expected=accepted
# 16 blocks of arithmetic, one call after the other: most of the device is idle.
import triton
import triton.language as tl


@triton.jit
def busy(x, out, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = v * 0.99999 + 0.00001
    tl.store(out + i, v)


def solve(x, out, *, steps):
    busy[(16,)](x, out, steps, BLOCK=1024, num_warps=8)
