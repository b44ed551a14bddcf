"""The product C = A Bᵀ: what a call gets and what it must give.

Parameters of a case: `m`, `n`, `k`, `dtype`, and optionally

- `values`: `rows` (default), `positive`, `spikes`, `low_rank`, `cancel`: see `values.py`;
- `strided`: the matrices are cut out of wider ones, each with a row stride of its own.

What it must cost is in `work.py`, the sentences about wrong results in `mistakes.py`.
"""

from collections.abc import Sequence

from grader.task import FunctionTask, Params, Product, Role, Slot, Tensor

from .mistakes import explain
from .values import VALUES
from .work import cost


def tensors(params: Params) -> Sequence[Tensor]:
    """a [M, K] and b [N, K] come in, c [M, N] goes out. Only row strides ever exceed the width."""
    m, n, k, dtype = params["m"], params["n"], params["k"], params["dtype"]

    def matrix(name: str, shape: tuple[int, int], role: Role, pad: int) -> Tensor:
        if not params.get("strided", False):
            return Tensor(name, dtype, shape, role)
        return Tensor(name, dtype, shape, role, strides=(shape[1] + pad, 1), offset=pad // 2)

    return (
        matrix("a", (m, k), "in", 7),
        matrix("b", (n, k), "in", 64),
        matrix("c", (m, n), "out", 5),
    )


def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """Write a and b of each slot from that slot's seed."""
    write = VALUES[params.get("values", "rows")]
    for slot, seed in zip(slots, seeds, strict=True):
        write(slot["a"], slot["b"], seed)


def oracle(params: Params, inputs: Slot) -> Slot:
    """The product in float64, not rounded."""
    del params
    return {"c": inputs["a"].double() @ inputs["b"].double().T}


PARTS = {
    "kernel": FunctionTask(
        tensors=tensors,
        fill=fill,
        oracle=oracle,
        cost=cost,
        audit="sampled",
        explain=explain,
        product=Product("a", "b", "c", transposed=True),
    )
}
