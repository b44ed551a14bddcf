"""The work that no implementation of the product can avoid."""

from collections.abc import Mapping

from grader.task import ITEM_BYTES, Cost, Params

UNITS: Mapping[str, str] = {"bfloat16": "tensor_bf16", "float16": "tensor_fp16", "float32": "fp32"}
"""What multiplies, by the type of the operands."""


def cost(params: Params) -> Cost:
    """A multiplication and an addition for each (i, j, k); A and B are read once, C is written once."""
    m, n, k, dtype = params["m"], params["n"], params["k"], params["dtype"]
    return Cost(
        operations={UNITS[dtype]: 2.0 * m * n * k},
        dram_bytes=float((m * k + n * k + m * n) * ITEM_BYTES[dtype]),
        steps=1,
    )
