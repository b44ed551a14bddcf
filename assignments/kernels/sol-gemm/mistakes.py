"""What C would be after a common mistake, and the sentence that names it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.task import Params, Slot

if TYPE_CHECKING:
    import torch

Guess = tuple["torch.Tensor", str, str]
STEPS = (128, 64, 32, 16, 8)


def explain(params: Params, inputs: Slot, expected: Slot, found: Slot) -> tuple[str, str] | None:
    """Name the mistake when C fits clearly better what a common one would give."""
    del params
    c, right = found["c"].double(), expected["c"]
    if (unwritten := _unwritten(c)) is not None:
        return unwritten
    limit = 0.2 * _distance(c, right)
    a, b = inputs["a"].double(), inputs["b"].double()
    near = min(((_distance(c, guess), en, zh) for guess, en, zh in _guesses(a, b, right)), default=None)
    return near[1:] if near is not None and near[0] <= limit else None


def _unwritten(c: "torch.Tensor") -> tuple[str, str] | None:
    """NaN everywhere, or in the last rows or columns alone: nothing was written there, or only added to."""
    nan = c.isnan()
    if not bool(nan.any()):
        return None
    if bool(nan.all()):
        return (
            "C is NaN everywhere: it was not written, or it was added to the NaN that it held at first.",
            "C 全为 NaN：没有写入，或者累加到了它最初所含的 NaN 上。",
        )
    rows, columns = nan.all(1), nan.all(0)
    for lines, en, zh in ((rows, "rows", "行"), (columns, "columns", "列")):
        count = int(lines.sum())
        inside = nan[~lines] if en == "rows" else nan[:, ~lines]
        if count and bool(lines[-count:].all()) and not bool(inside.any()):
            return (
                f"The last {count} {en} of C were not written: tiles that are not full count too.",
                f"C 的最后 {count} {zh}没有写入：不满的分块也要写。",
            )
    return None


def _guesses(a: "torch.Tensor", b: "torch.Tensor", right: "torch.Tensor") -> Iterator[Guess]:
    m, n, k = len(a), len(b), a.shape[1]
    if m == n:
        yield right.T, "C holds its own transpose.", "C 中写的是自己的转置。"
    yield (
        a @ b.reshape(k, n),
        "B was read as a matrix [K, N]; it is [N, K], and its rows lie along K.",
        "B 被当作 [K, N] 读取；它是 [N, K]，每一行沿 K 方向存放。",
    )
    yield (
        2 * right,
        "C is twice what it should be: a part of K was added twice.",
        "C 是应有值的两倍：有一部分 K 加了两次。",
    )
    for step in STEPS:
        whole = k // step * step
        if 0 < whole < k:
            yield (
                a[:, :whole] @ b[:, :whole].T,
                f"The last {k - whole} of K = {k} are missing: K need not be a multiple of {step}.",
                f"K = {k} 的最后 {k - whole} 个没有加进去：K 不一定是 {step} 的倍数。",
            )
    half = k // 2
    if half:
        yield (
            a[:, half:] @ b[:, half:].T,
            "C holds the second half of K alone: what came before was overwritten.",
            "C 中只有 K 的后一半：之前的结果被覆盖了。",
        )


def _distance(left: "torch.Tensor", right: "torch.Tensor") -> float:
    """Of two matrices, over the size of the second."""
    import torch

    size = float(torch.linalg.vector_norm(right))
    return float(torch.linalg.vector_norm(left - right)) / size if size else float("inf")
