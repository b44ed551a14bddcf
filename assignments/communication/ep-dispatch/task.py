"""Expert parallelism: tokens go to the ranks of their experts, and what the experts made of them comes back.

What the parameters of a case mean is in `routing.py`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader import fills, network
from grader.task import ITEM_BYTES, CollectiveTask, Cost, Params, Scalar, Slot, Tensor

from . import brute, routing

if TYPE_CHECKING:
    import networkx as nx
    import torch

ALPHA_PS = 1_000_000
BYTE_PS = 2_000
"""A message takes a microsecond, and two nanoseconds for each of its bytes."""


def topology(params: Params) -> "nx.DiGraph[Any]":
    """One switch."""
    return network.switch(params["ranks"], ALPHA_PS, BYTE_PS)


def dispatch_tensors(params: Params, rank: int) -> Sequence[Tensor]:
    """x [T, H], experts and weights [T, k] come in; what the rank receives goes out, and how much of it."""
    mine, most = routing.counts(params)[rank], routing.most_rows(params)
    width, top, dtype = params["width"], params["top"], params["dtype"]
    return (
        Tensor("x", dtype, (mine, width), "in"),
        Tensor("experts", "int64", (mine, top), "in"),
        Tensor("weights", "float32", (mine, top), "in"),
        Tensor("recv_x", dtype, (most, width), "out", count="received"),
        Tensor("recv_experts", "int64", (most, top), "out", count="received"),
        Tensor("recv_weights", "float32", (most, top), "out", count="received"),
        Tensor("sources", "int64", (params["ranks"],), "out"),
        Tensor("received", "int64", (1,), "out"),
    )


def combine_tensors(params: Params, rank: int) -> Sequence[Tensor]:
    """experts, and y [most, H] with its first sum(sources) rows valid, come in; out [T, H] goes out."""
    mine, width, dtype = routing.counts(params)[rank], params["width"], params["dtype"]
    return (
        Tensor("experts", "int64", (mine, params["top"]), "in"),
        Tensor("sources", "int64", (params["ranks"],), "in"),
        Tensor("y", dtype, (routing.most_rows(params), width), "in"),
        Tensor("out", dtype, (mine, width), "out"),
    )


def scalars(params: Params, _rank: int) -> dict[str, Scalar]:
    """How many experts there are in all."""
    return {"count": params["experts"]}


def _values(params: Params, tensor: "torch.Tensor", seed: int, label: str) -> None:
    if params["dtype"].startswith("float"):
        fills.rows(tensor, seed, label)
    else:
        fills.integers(tensor, seed, label, -(1 << 31), (1 << 31) - 1)


def dispatch_fill(params: Params, rank: int, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """Tokens of each rank's own, and the routing of all."""
    import torch

    for slot, seed in zip(slots, seeds, strict=True):
        slot["experts"].copy_(torch.from_numpy(routing.tables(params, seed)[rank]))
        _values(params, slot["x"], seed, f"x of {rank}")
        fills.uniform(slot["weights"], seed, f"weights of {rank}", 0.0, 1.0)


def combine_fill(params: Params, rank: int, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """The routing of all, and what the rank's experts made of the tokens that came."""
    import torch

    for slot, seed in zip(slots, seeds, strict=True):
        tables = routing.tables(params, seed)
        slot["experts"].copy_(torch.from_numpy(tables[rank]))
        slot["sources"].copy_(torch.tensor([row[rank] for row in routing.traffic(params, tables)]))
        _values(params, slot["y"], seed, f"y of {rank}")


def dispatch_oracle(params: Params, inputs: Sequence[Slot]) -> list[Slot]:
    """Each rank's tokens in the order of their ranks, then of their places there."""
    import torch

    owner = torch.tensor(routing.owners(params))
    answers: list[Slot] = []
    for rank in range(params["ranks"]):
        rows: dict[str, list[torch.Tensor]] = {"recv_x": [], "recv_experts": [], "recv_weights": []}
        sources = []
        for one in inputs:
            here = owner[one["experts"]] == rank
            come = here.any(1)
            sources.append(int(come.sum()))
            rows["recv_x"].append(one["x"][come])
            rows["recv_experts"].append(torch.where(here, one["experts"], -1)[come])
            rows["recv_weights"].append(torch.where(here, one["weights"], 0.0)[come])
        answer = {name: torch.cat(parts) for name, parts in rows.items()}
        for name in ("recv_x", "recv_weights"):
            if answer[name].dtype.is_floating_point:
                answer[name] = answer[name].to(torch.float64)
        answer |= {"sources": torch.tensor(sources), "received": torch.tensor([sum(sources)])}
        answers.append(answer)
    return answers


def combine_oracle(params: Params, inputs: Sequence[Slot]) -> list[Slot]:
    """For every token the sum of what its ranks have sent back."""
    import torch

    answers: list[Slot] = []
    at = [0] * params["ranks"]
    for one in inputs:
        exact = torch.float64 if one["y"].dtype.is_floating_point else torch.int64
        out = torch.zeros(len(one["experts"]), params["width"], dtype=exact)
        for rank, tokens in enumerate(routing.visits(params, one["experts"].numpy())):
            out[tokens] += inputs[rank]["y"][at[rank] : at[rank] + len(tokens)].to(exact)
            at[rank] += len(tokens)
        answers.append({"out": out if exact is torch.float64 else out.to(one["y"].dtype)})
    return answers


def nanoseconds(params: Params, arriving: int, leaving: int) -> tuple[float, str]:
    """The bound of `routing.busiest`: either number of rows on one link, in one message at least."""
    rows = max(arriving, leaving)
    row = params["width"] * ITEM_BYTES[params["dtype"]]
    return ((ALPHA_PS + rows * row * BYTE_PS) / 1000, "bandwidth") if rows else (0.0, "")


def bound(params: Params, inputs: Sequence[Slot]) -> tuple[float, str]:
    """The bound of the tokens that this call has to move; it is the same there and back."""
    return nanoseconds(params, *routing.busiest(params, [one["experts"].numpy() for one in inputs]))


def cost(params: Params) -> Cost:
    """Expected bytes on the busiest link if experts are chosen evenly; the bound counts those of the call."""
    share = 1 - (1 - 1 / params["ranks"]) ** params["top"]
    row = params["width"] * ITEM_BYTES[params["dtype"]]
    remote = max(routing.counts(params)) * (params["ranks"] - 1) * share * row
    local = 2.0 * max(1, *routing.counts(params)) * row
    return Cost(dram_bytes=local, link_bytes=remote, steps=1)


def explain_dispatch(
    params: Params, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot
) -> tuple[str, str] | None:
    """Name the mistake where the counts, or the order, tell it."""
    came, right = int(found["received"][0]), int(expected["received"][0])
    owner = routing.owners(params)
    doubled = sum(owner[expert] == rank for one in inputs for expert in one["experts"].flatten().tolist())
    if came == doubled != right:
        return (
            f"{came} rows: one for each expert. A token goes to a rank once, whatever experts are there.",
            f"收到 {came} 行：每个专家一行。无论一个 token 在该 rank 上有几个专家，它只需发送一次。",
        )
    own = int(expected["sources"][rank])
    if came == right - own != right:
        return (
            f"{own} rows are missing: tokens of the rank itself belong to what it receives.",
            f"缺少 {own} 行：该 rank 自己的 token 也属于接收结果。",
        )
    order = found["sources"].flip(0)
    if came == right and (order == expected["sources"]).all() and not (found["sources"] == order).all():
        return ("The sources stand in the opposite order.", "来源的顺序颠倒了。")
    return None


def explain_combine(
    params: Params, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot
) -> tuple[str, str] | None:
    """Name the mistake where the rank's own part is all there is, or is what is missing."""
    out, right = found["out"].double(), expected["out"].double()
    tokens = routing.visits(params, inputs[rank]["experts"].numpy())[rank]
    at = int(inputs[rank]["sources"][:rank].sum())
    own = right * 0
    own[tokens] = inputs[rank]["y"][at : at + len(tokens)].double()
    if tokens and ((out - (right - own)).abs() <= 1e-3 * right.abs().max()).all():
        return (
            "What the rank's own experts made of its tokens is missing.",
            "缺少该 rank 自己的专家对其 token 的结果。",
        )
    return None


def _part(name: str, tensors: Any, fill: Any, oracle: Any, explain: Any) -> CollectiveTask:
    return CollectiveTask(
        ranks=lambda params: int(params["ranks"]),
        tensors=tensors,
        fill=fill,
        oracle=oracle,
        cost=cost,
        scalars=scalars,
        priced=True,
        network=topology,
        bound=bound,
        calls=lambda params: int(params.get("calls", 1)),
        most_bytes=lambda params: (
            8
            * (params["width"] * ITEM_BYTES[params["dtype"]] + 16 * params["top"] + 64)
            * routing.most_rows(params)
        ),
        explain=explain,
        brute_force=lambda seed: brute.outcome(name, seed, nanoseconds),
    )


PARTS = {
    "dispatch": _part("dispatch", dispatch_tensors, dispatch_fill, dispatch_oracle, explain_dispatch),
    "combine": _part("combine", combine_tensors, combine_fill, combine_oracle, explain_combine),
}
