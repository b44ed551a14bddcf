"""Residual addition and RMS normalisation: what a call gets and what it must give.

What it must cost is in `work.py`, the part `predict` in `prediction.py`.

Parameters of a case: `rows` (M), `columns` (N), `dtype`, `epsilon`, and optionally

- `values`: `rows` (default; random scale and offset per row, outliers), `zeros` (some rows are zero, or their
  sum is), `large` (magnitudes of about 10,000: squares overflow float16), `small` (magnitudes of about 0.001:
  epsilon decides), `outlier` (one element per row of about 10,000 beside ordinary ones);
- `strided`: the matrices are cut out of wider ones, each with a row stride of its own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader import fills
from grader.task import DialogueTask, FunctionTask, Params, Role, Scalar, Slot, Tensor

from .prediction import episode
from .work import cost

if TYPE_CHECKING:
    import torch

_BLOCK = 1 << 18
"""Elements the oracle handles at once, so that its float64 copies stay in a cache."""
_DEVICE_BLOCK = 1 << 26
"""On a device few launches count for more."""


def tensors(params: Params) -> Sequence[Tensor]:
    """x, res [M, N] and w [N] come in; y, res_out [M, N] go out. Only row strides ever exceed N."""
    rows, columns, dtype = params["rows"], params["columns"], params["dtype"]

    def matrix(name: str, role: Role, pad: int) -> Tensor:
        if not params.get("strided", False):
            return Tensor(name, dtype, (rows, columns), role)
        return Tensor(name, dtype, (rows, columns), role, strides=(columns + pad, 1), offset=pad // 2)

    return (
        matrix("x", "in", 7),
        matrix("res", "in", 64),
        Tensor("w", dtype, (columns,), "in"),
        matrix("y", "out", 16),
        matrix("res_out", "out", 5),
    )


def scalars(params: Params) -> dict[str, Scalar]:
    """eps, added to the mean of the squares."""
    return {"eps": params["epsilon"]}


def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """Write x, res and w of each slot from that slot's seed."""
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["w"], seed, "w", -2.0, 2.0)
        _VALUES[params.get("values", "rows")](slot["x"], slot["res"], seed)


def _rows(x: "torch.Tensor", res: "torch.Tensor", seed: int) -> None:
    fills.rows(x, seed, "x")
    fills.rows(res, seed, "res")


def _zeros(x: "torch.Tensor", res: "torch.Tensor", seed: int) -> None:
    _rows(x, res, seed)
    chosen = fills.generator(seed, "zeros").permutation(len(x))
    third = -(-len(x) // 3)
    for row in chosen[:third].tolist():
        x[row] = 0
        res[row] = 0
    for row in chosen[third : 2 * third].tolist():
        res[row] = -x[row]


def _large(x: "torch.Tensor", res: "torch.Tensor", seed: int) -> None:
    fills.uniform(x, seed, "x", 5e3, 1e4)
    fills.uniform(res, seed, "res", -2e3, 1e4)


def _small(x: "torch.Tensor", res: "torch.Tensor", seed: int) -> None:
    fills.uniform(x, seed, "x", -2e-3, 1e-3)
    fills.uniform(res, seed, "res", -1e-3, 2e-3)


def _outlier(x: "torch.Tensor", res: "torch.Tensor", seed: int) -> None:
    fills.uniform(x, seed, "x")
    fills.uniform(res, seed, "res")
    random = fills.generator(seed, "outlier")
    for row, column in enumerate(random.integers(0, x.shape[1], len(x)).tolist()):
        x[row, column] = float(random.uniform(0.9e4, 1.1e4))


_VALUES = {"rows": _rows, "zeros": _zeros, "large": _large, "small": _small, "outlier": _outlier}


def oracle(params: Params, inputs: Slot) -> Slot:
    """The sum, rounded once to the dtype; its normalisation in float64, not rounded."""
    import torch

    x, res, w = inputs["x"], inputs["res"], inputs["w"].to(torch.float64)
    rows, columns = x.shape
    # A float32 addition of two float16 or bfloat16 numbers, rounded to their type, is correctly rounded.
    res_out = torch.empty(rows, columns, dtype=x.dtype, device=x.device)
    y = torch.empty(rows, columns, dtype=torch.float64, device=x.device)
    step = max(1, (_DEVICE_BLOCK if x.is_cuda else _BLOCK) // columns)
    for first in range(0, rows, step):
        block = slice(first, first + step)
        torch.add(x[block], res[block], out=res_out[block])
        total = y[block].copy_(res_out[block])
        mean = torch.linalg.vector_norm(total, dim=1, keepdim=True).square_().div_(columns)
        total.mul_(mean.add_(params["epsilon"]).rsqrt_()).mul_(w)
    return {"y": y, "res_out": res_out}


def explain(params: Params, inputs: Slot, expected: Slot, found: Slot) -> tuple[str, str] | None:
    """Name the mistake when the outputs fit clearly better what a common one would give."""
    if not bool((found["res_out"] == expected["res_out"]).all()):
        return _explain_sum(inputs, found["res_out"])
    y = found["y"]
    limit = min(0.7 * _distance(y, expected["y"]), max(0.35 * _epsilon(y), 1e-5))
    distances = [
        (_distance(y, guess), en, zh)
        for guess, en, zh in _mistakes(inputs, expected["res_out"], float(params["epsilon"]))
    ]
    distance, en, zh = min(distances)
    return (en, zh) if distance <= limit else None


def _explain_sum(inputs: Slot, found: "torch.Tensor") -> tuple[str, str] | None:
    if bool(found.isnan().all()):
        return (
            "The sum x + res is an output as well.",
            "x + res 之和也是输出之一。",
        )
    if any(bool((found == inputs[name]).all()) for name in ("x", "res")):
        return (
            "res_out must be the sum x + res, not one of the two.",
            "res_out 应为 x + res 之和，而不是其中之一。",
        )
    return None


def _mistakes(
    inputs: Slot, res_out: "torch.Tensor", epsilon: float
) -> Sequence[tuple["torch.Tensor", str, str]]:
    """What y would be after each common mistake, with the sentence that says so."""
    import torch

    dtype = res_out.dtype
    x, res, w = (inputs[name].to(torch.float64) for name in ("x", "res", "w"))
    total = res_out.to(torch.float64)
    columns = total.shape[1]
    padded = 1 << (columns - 1).bit_length()

    def squares(values: "torch.Tensor") -> "torch.Tensor":
        return values.square().mean(1, keepdim=True)

    def norm(values: "torch.Tensor") -> "torch.Tensor":
        return values * (squares(values) + epsilon).rsqrt()

    mean = squares(total)
    return (
        (
            norm(x) * w,
            "y is the norm of x alone; normalise the sum x + res.",
            "y 只对 x 做了归一化；应当归一化 x + res 之和。",
        ),
        (norm(total), "y lacks the factor w.", "y 缺少因子 w。"),
        (
            total * (mean * columns + epsilon).rsqrt() * w,
            "y was divided by the root of the sum of squares; take the mean over the N columns.",
            "y 除以了平方和的根；应当先对 N 列的平方取平均。",
        ),
        (
            total * (mean * columns / padded + epsilon).rsqrt() * w,
            f"The mean was taken over {padded} padded columns; a row has {columns}.",
            f"平均值按填充后的 {padded} 列计算；一行只有 {columns} 列。",
        ),
        (total * mean.rsqrt() * w, "eps is missing.", "缺少 eps。"),
        (
            total / (mean.sqrt() + epsilon) * w,
            "eps was added outside the square root; it belongs inside: rsqrt(mean + eps).",
            "eps 加在了根号外面；应当在里面：rsqrt(mean + eps)。",
        ),
        (
            norm(total - total.mean(1, keepdim=True)) * w,
            "The mean of the row was subtracted: that is LayerNorm. RMSNorm subtracts nothing.",
            "减去了行的平均值：那是 LayerNorm。RMSNorm 不减任何东西。",
        ),
        (
            norm(x + res) * w,
            "y was made from the sum before it was rounded; normalise res_out as it was stored.",
            "y 由舍入之前的和得出；应当归一化已存储（已舍入）的 res_out。",
        ),
        (
            (norm(total).to(dtype).to(torch.float64) * w).to(dtype),
            "The normalised value was rounded before the product with w; round once, at the end.",
            "归一化的值在乘以 w 之前被舍入；应当只在最后舍入一次。",
        ),
    )


def _distance(found: "torch.Tensor", guess: "torch.Tensor") -> float:
    """Mean over the rows of ‖found - guess‖ / ‖guess‖; NaN in both at one place is agreement."""
    import torch

    guess = guess.to(torch.float64)
    difference = found.to(torch.float64) - guess
    difference[found.isnan() & guess.isnan()] = 0.0
    size = torch.linalg.vector_norm(guess.nan_to_num(), dim=1).clamp_(min=1e-30)
    errors = torch.linalg.vector_norm(difference.nan_to_num(nan=torch.inf), dim=1) / size
    return float(errors.mean())


def _epsilon(values: "torch.Tensor") -> float:
    import torch

    return torch.finfo(values.dtype).eps


PARTS = {
    "kernel": FunctionTask(
        tensors=tensors,
        scalars=scalars,
        fill=fill,
        oracle=oracle,
        cost=cost,
        audit="full",
        explain=explain,
        rowwise=True,
    ),
    "predict": DialogueTask(episode=episode),
}
