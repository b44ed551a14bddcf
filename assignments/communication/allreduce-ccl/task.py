"""A collective communication library: all-reduce, reduce-scatter and all-gather from send and receive.

Parameters of a case: `ranks` (n), `elements` (of the whole vector), `dtype`, and optionally `operation` (sum,
which is the default, or max), `groups` (halves or evens: two groups at work side by side), `calls` (one right
after the other), `topology` (switch, ring or servers) and `values` (bits, for integers of the whole range).

The vector is cut into one block a rank, block r being the elements from r S // n up to (r + 1) S // n.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader import fills, network
from grader.task import CollectiveTask, Cost, Params, Scalar, Slot, Tensor

from . import bound, brute

if TYPE_CHECKING:
    import networkx as nx
    import torch

ALPHA_PS = 5_000_000
BYTE_PS = 1_000
"""A message takes 5 microseconds, and a nanosecond for each of its bytes."""
_FAR = (4, 3)
"""Between two servers a message takes so many times as long, and each of its bytes."""


def groups(params: Params) -> list[list[int]]:
    """The ranks that communicate with each other."""
    everybody = list(range(params["ranks"]))
    match params.get("groups"):
        case "halves":
            return [everybody[: len(everybody) // 2], everybody[len(everybody) // 2 :]]
        case "evens":
            return [everybody[::2], everybody[1::2]]
    return [everybody]


def place(params: Params, rank: int) -> tuple[int, int]:
    """(position in its group, ranks of the group)."""
    group = next(group for group in groups(params) if rank in group)
    return group.index(rank), len(group)


def block(elements: int, position: int, count: int) -> slice:
    """The block of a position."""
    return slice(position * elements // count, (position + 1) * elements // count)


def topology(params: Params) -> "nx.DiGraph[Any]":
    """One switch, unless the case names another."""
    ranks = params["ranks"]
    match params.get("topology", "switch"):
        case "ring":
            return network.ring(ranks, ALPHA_PS, BYTE_PS)
        case "servers":
            far = (_FAR[0] * ALPHA_PS, _FAR[1] * BYTE_PS)
            return network.servers(2, ranks // 2, (ALPHA_PS, BYTE_PS), far)
    return network.switch(ranks, ALPHA_PS, BYTE_PS)


def _share(params: Params, rank: int) -> int:
    mine = block(params["elements"], *place(params, rank))
    return mine.stop - mine.start


def _tensors(params: Params, given: int, written: int) -> Sequence[Tensor]:
    dtype = params["dtype"]
    return Tensor("x", dtype, (given,), "in"), Tensor("out", dtype, (written,), "out")


def all_reduce_tensors(params: Params, _rank: int) -> Sequence[Tensor]:
    """x [S] comes in; out [S] goes out."""
    return _tensors(params, params["elements"], params["elements"])


def reduce_scatter_tensors(params: Params, rank: int) -> Sequence[Tensor]:
    """x [S] comes in; out, the rank's block, goes out."""
    return _tensors(params, params["elements"], _share(params, rank))


def all_gather_tensors(params: Params, rank: int) -> Sequence[Tensor]:
    """x, the rank's block, comes in; out [S] goes out."""
    return _tensors(params, _share(params, rank), params["elements"])


def scalars(params: Params, _rank: int) -> dict[str, Scalar]:
    """Whether the greatest value is asked for in place of the sum."""
    return {"maximum": params.get("operation", "sum") == "max"}


def fill(params: Params, rank: int, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """Write x of each slot: of floating-point numbers with a scale and an offset of the rank's own."""
    for slot, seed in zip(slots, seeds, strict=True):
        if params["dtype"].startswith("float"):
            fills.rows(slot["x"], seed, f"x of {rank}")
        else:
            bits = 8 * slot["x"].element_size() - 1 if params.get("values") == "bits" else 20
            fills.integers(slot["x"], seed, f"x of {rank}", -(1 << bits), (1 << bits) - 1)


def _reduced(params: Params, inputs: Sequence[Slot], group: Sequence[int]) -> "torch.Tensor":
    """The vector of a group, in float64 or in integers that wrap around as theirs do."""
    import torch

    values = torch.stack([inputs[rank]["x"] for rank in group])
    exact = values.to(torch.float64) if values.dtype.is_floating_point else values.to(torch.int64)
    if params.get("operation", "sum") == "max":
        return exact.amax(0)
    total: torch.Tensor = exact.sum(0)
    return total if values.dtype.is_floating_point else total.to(values.dtype)


def all_reduce_oracle(params: Params, inputs: Sequence[Slot]) -> list[Slot]:
    """The whole reduced vector for everybody."""
    found: dict[int, Slot] = {}
    for group in groups(params):
        reduced = _reduced(params, inputs, group)
        found |= {rank: {"out": reduced} for rank in group}
    return [found[rank] for rank in range(len(inputs))]


def reduce_scatter_oracle(params: Params, inputs: Sequence[Slot]) -> list[Slot]:
    """The reduced block of each."""
    return [
        {"out": one["out"][block(params["elements"], *place(params, rank))]}
        for rank, one in enumerate(all_reduce_oracle(params, inputs))
    ]


def all_gather_oracle(params: Params, inputs: Sequence[Slot]) -> list[Slot]:
    """The blocks of all, one behind the other."""
    import torch

    found: dict[int, Slot] = {}
    for group in groups(params):
        whole = torch.cat([inputs[rank]["x"] for rank in group])
        exact = whole.to(torch.float64) if whole.dtype.is_floating_point else whole
        found |= {rank: {"out": exact} for rank in group}
    return [found[rank] for rank in range(len(inputs))]


def explain(
    params: Params, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot
) -> tuple[str, str] | None:
    """Name the mistake where a rank's answer is exactly what a common one gives."""
    import torch

    out, right = found["out"].double(), expected["out"].double()
    if not out.numel():
        return None
    count = place(params, rank)[1]
    size = params["elements"] // count
    wrong = (out - right).abs() > 1e-3 * right.abs().clamp_min(1e-6)
    mine = inputs[rank]["x"].double()
    if out.shape == mine.shape and torch.equal(out, mine):
        return (
            "It is the rank's own x: nothing was received.",
            "结果就是该 rank 自己的 x：没有接收任何数据。",
        )
    rest = len(out) - count * size
    if bool(wrong[count * size :].any()) and not bool(wrong[: count * size].any()):
        return (
            f"Only the last {rest} elements are wrong: {len(out)} do not divide evenly among {count} ranks.",
            f"只有最后 {rest} 个元素有误：{len(out)} 个元素不能被 {count} 个 rank 整除。",
        )
    if params.get("operation") == "max":
        total = sum(one["x"].double() for one in inputs)
        if torch.allclose(out, torch.as_tensor(total), rtol=1e-3):
            return ("It is the sum; maximum is true.", "结果是求和；但 maximum 为真。")
    return None


def cost(params: Params, share: int) -> Cost:
    """Bytes that cross the busiest link: `share` times those of n - 1 blocks."""
    item = Tensor("x", params["dtype"], (1,), "in").item_bytes
    count = max(len(group) for group in groups(params))
    size = params["elements"] * item
    sent = share * (count - 1) * size / count
    return Cost(dram_bytes=2.0 * size, link_bytes=sent, steps=max(1, (count - 1).bit_length()))


def _part(name: str, tensors: Any, oracle: Any) -> CollectiveTask:
    return CollectiveTask(
        ranks=lambda params: int(params["ranks"]),
        tensors=tensors,
        fill=fill,
        oracle=oracle,
        cost=lambda params: cost(params, 2 if name == "all_reduce" else 1),
        scalars=(lambda _params, _rank: {}) if name == "all_gather" else scalars,
        priced=True,
        network=topology,
        bound=lambda params, _inputs: bound.nanoseconds(name, params, ALPHA_PS, BYTE_PS),
        groups=groups,
        calls=lambda params: int(params.get("calls", 1)),
        explain=explain if name == "all_reduce" else None,
        brute_force=lambda seed: brute.outcome(name, seed),
    )


PARTS = {
    "all_reduce": _part("all_reduce", all_reduce_tensors, all_reduce_oracle),
    "reduce_scatter": _part("reduce_scatter", reduce_scatter_tensors, reduce_scatter_oracle),
    "all_gather": _part("all_gather", all_gather_tensors, all_gather_oracle),
}
