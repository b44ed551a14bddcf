# solmark: verdict=accepted
# What a good student writes first in Triton: one program a tile of C, pointers, a mask for every load.
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, sa, sb, sc, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    a += row[:, None].to(tl.int64) * sa + depth[None, :]
    b += column[None, :].to(tl.int64) * sb + depth[:, None]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, K, DEPTH):
        inside = depth < K - first
        left = tl.load(a + first, (row[:, None] < M) & inside[None, :], 0.0)
        right = tl.load(b + first, inside[:, None] & (column[None, :] < N), 0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    c += row[:, None].to(tl.int64) * sc + column[None, :]
    tl.store(c, total.to(c.dtype.element_ty), (row[:, None] < M) & (column[None, :] < N))


def solve(a, b, c):
    (m, k), n = a.shape, b.shape[0]
    grid = (triton.cdiv(m, 128), triton.cdiv(n, 128))
    kernel[grid](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0),
        ROWS=128, COLUMNS=128, DEPTH=64, num_warps=8, num_stages=3,
    )  # fmt: skip
