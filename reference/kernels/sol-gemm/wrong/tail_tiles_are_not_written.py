# solmark: verdict=wrong_answer
# Triton: the grid is rounded down, so the last rows of C are missing.
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, N, K, sa, sb, sc, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, K, DEPTH):
        k = first + tl.arange(0, DEPTH)
        left = tl.load(a + row * sa + k[None, :], k[None, :] < K, 0.0)
        right = tl.load(b + column * sb + k[:, None], (k[:, None] < K) & (column < N), 0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row * sc + column, total.to(c.dtype.element_ty), column < N)


def solve(a, b, c):
    (m, k), n = a.shape, b.shape[0]
    if m < 32:
        return
    strides = a.stride(0), b.stride(0), c.stride(0)
    kernel[(m // 32, triton.cdiv(n, 32))](a, b, c, n, k, *strides, ROWS=32, COLUMNS=32, DEPTH=64)
