# solmark: verdict=accepted
# One program a block of rows. A row of up to 16,384 columns stays in registers from the addition to the last
# product; longer ones are read twice, the second time from res_out. A kernel is launched while the one before still
# runs, and waits for its end before it touches memory: what a launch costs is then over.
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

WHOLE = 16384


@triton.jit
def whole(
    x, res, w, y, res_out, rows, columns, sx, sr, sy, so, eps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    if EARLY:
        gdc_wait()
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    mask = (row < rows) & (column < columns)
    row = row.to(tl.int64)
    total = tl.load(x + row * sx + column, mask, 0.0) + tl.load(res + row * sr + column, mask, 0.0)
    weight = tl.load(w + column, column < columns, 0.0).to(tl.float32)
    if EARLY:
        gdc_launch_dependents()
    tl.store(res_out + row * so + column, total, mask)
    total = total.to(tl.float32)
    mean = tl.sum(total * total, axis=1) / columns
    result = total * (1.0 / tl.sqrt(mean + eps))[:, None] * weight
    tl.store(y + row * sy + column, result.to(y.dtype.element_ty), mask)


@triton.jit
def pieces(x, res, w, y, res_out, columns, sx, sr, sy, so, eps, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((COLUMNS,), tl.float32)
    for first in range(0, columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        mask = column < columns
        total = tl.load(x + row * sx + column, mask, 0.0) + tl.load(res + row * sr + column, mask, 0.0)
        tl.store(res_out + row * so + column, total, mask)
        squares += total.to(tl.float32) * total.to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for first in range(0, columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        mask = column < columns
        total = tl.load(res_out + row * so + column, mask, 0.0).to(tl.float32)
        weight = tl.load(w + column, mask, 0.0).to(tl.float32)
        tl.store(y + row * sy + column, (total * factor * weight).to(y.dtype.element_ty), mask)


def solve(x, res, w, y, res_out, *, eps):
    rows, columns = x.shape
    if rows == 0:
        return
    strides = (x.stride(0), res.stride(0), y.stride(0), res_out.stride(0))
    if columns > WHOLE:
        pieces[(rows,)](x, res, w, y, res_out, columns, *strides, eps, COLUMNS=8192)
        return
    padded = triton.next_power_of_2(columns)
    together = max(1, min(16, 2048 // padded))
    # 16 bytes a thread of two-byte types, up to what a block can hold. Hints to evict these lines first made it
    # slower: a cache that begins full of other lines then keeps those.
    warps = max(1, min(16, together * padded // 256))
    grid = (triton.cdiv(rows, together),)
    early = {"launch_pdl": True} if x.is_cuda else {}
    whole[grid](
        x, res, w, y, res_out, rows, columns, *strides, eps,
        ROWS=together, COLUMNS=padded, EARLY=x.is_cuda, num_warps=warps, **early,
    )  # fmt: skip
