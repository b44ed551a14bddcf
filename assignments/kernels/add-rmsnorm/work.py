"""The work that no implementation can avoid."""

from grader.task import ITEM_BYTES as ITEM
from grader.task import Cost, Params

__all__ = ["ITEM", "cost"]


def cost(params: Params) -> Cost:
    """Read x, res and w once, write y and res_out once; an addition, a square's two and two products each."""
    rows, columns = params["rows"], params["columns"]
    if rows == 0:
        return Cost()
    elements = rows * columns
    return Cost(
        operations={"fp32": 5.0 * elements},
        dram_bytes=float((4 * elements + columns) * ITEM[params["dtype"]]),
    )
