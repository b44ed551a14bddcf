# solmark: verdict=wrong_answer
# Divides by the padded width of the tile instead of by the number of columns.
import triton
import triton.language as tl


@triton.jit
def kernel(x, res, w, y, res_out, columns, sx, sr, sy, so, eps, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    mask = column < columns
    total = tl.load(x + row * sx + column, mask, 0.0) + tl.load(res + row * sr + column, mask, 0.0)
    tl.store(res_out + row * so + column, total, mask)
    total = total.to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(total * total, axis=0) / COLUMNS + eps)
    weight = tl.load(w + column, mask, 0.0).to(tl.float32)
    tl.store(y + row * sy + column, (total * factor * weight).to(y.dtype.element_ty), mask)


def solve(x, res, w, y, res_out, *, eps):
    rows, columns = x.shape
    if rows == 0:
        return
    strides = (x.stride(0), res.stride(0), y.stride(0), res_out.stride(0))
    kernel[(rows,)](x, res, w, y, res_out, columns, *strides, eps, COLUMNS=triton.next_power_of_2(columns))
