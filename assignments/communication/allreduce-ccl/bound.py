"""The least time of a collective on one switch; README.md has the proof."""

from grader.task import ITEM_BYTES, Params


def least(name: str, ranks: int, block: float, alpha: float, byte: float) -> tuple[float, str]:
    """The bound for `ranks` blocks of `block` bytes each, in the unit of alpha and byte, and what binds."""
    if ranks == 1:
        return 0.0, ""
    steps = (ranks - 1).bit_length()
    latency = steps * alpha + (ranks - 1) * block * byte
    if name != "all_reduce":
        return latency, "latency" if steps * alpha > (ranks - 1) * block * byte else "bandwidth"
    bandwidth = alpha + 2 * (ranks - 1) * block * byte
    return (latency, "latency") if latency > bandwidth else (bandwidth, "bandwidth")


def nanoseconds(name: str, params: Params, alpha_ps: int, byte_ps: int) -> tuple[float, str]:
    """The bound of a case. Where blocks differ by an element, the smaller ones count."""
    if "topology" in params or "groups" in params:
        raise ValueError("there is a bound for one group on one switch")
    block = params["elements"] // params["ranks"] * ITEM_BYTES[params["dtype"]]
    found, by = least(name, params["ranks"], block, alpha_ps, byte_ps)
    return found / 1000, by
