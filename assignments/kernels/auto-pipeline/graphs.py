"""Loops as text, with timings that are drawn anew for each case.

Parameters of a case: `iterations`; `copies`, how often every result fits into shared memory; and the loop:
`graph`, one of `GRAPHS`, or `ops`, `edges` and `warpgroups` of its own.

    load_k tma 100..260 +300..700 8..32 KiB      name, unit, busy cycles, more until the result is there, size
    values -> values @ 1                         values needs its own result of one iteration before
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

from grader.task import Params

from .model import Edge, LoopError, Machine, Op, Problem

UNITS = {"tma": False, "tensor": False, "alu": True}
BARRIERS = 32
_SPAN = r"(-?\d+)(?:\.\.(-?\d+))?"
_OP = re.compile(rf"(\w+) (\w+) {_SPAN}(?: \+{_SPAN})?(?: {_SPAN} KiB)?")
_EDGE = re.compile(r"(\w+) -> (\w+)(?: @ (-?\d+))?")

_LOADS = ("load_k tma 100..260 +300..700 8..32 KiB", "load_v tma 100..260 +300..700 8..32 KiB")


def _attention(tile: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """One tile of queries. A softmax fits beside one product: a longer one would keep the next from issue."""
    ops = (
        f"scores{tile} tensor 300..700",
        f"softmax{tile} alu 150..270 +20",
        f"values{tile} tensor 300..700",
    )
    edges = (
        f"load_k -> scores{tile}",
        f"scores{tile} -> softmax{tile}",
        f"softmax{tile} -> softmax{tile} @ 1",
        f"softmax{tile} -> values{tile}",
        f"load_v -> values{tile}",
        f"values{tile} -> values{tile} @ 1",
    )
    return ops, edges


_ONE, _FIRST, _SECOND = map(_attention, ("", "_0", "_1"))
GRAPHS: Mapping[str, tuple[Sequence[str], Sequence[str], int]] = {
    "gemm": (
        (
            "load_a tma 100..260 +300..700 8..32 KiB",
            "load_b tma 100..260 +300..700 8..32 KiB",
            "product tensor 300..700",
        ),
        ("load_a -> product", "load_b -> product", "product -> product @ 1"),
        2,
    ),
    "dequant": (
        (
            "load_x tma 100..260 +300..700 8..32 KiB",
            "load_w tma 100..260 +300..700 8..32 KiB",
            "unpack alu 200..600 +20 8..32 KiB",
            "product tensor 300..700",
        ),
        ("load_w -> unpack", "unpack -> product", "load_x -> product", "product -> product @ 1"),
        3,
    ),
    "attention": ((*_LOADS, *_ONE[0]), _ONE[1], 2),
    "pingpong": ((*_LOADS, *_FIRST[0], *_SECOND[0]), (*_FIRST[1], *_SECOND[1]), 3),
}
"""Operations, edges and warpgroups of the loops that students see."""


def problem(params: Params, random: Random) -> Problem:
    """The loop of a case. Raises LoopError, which names the fault."""
    if "graph" in params:
        if params["graph"] not in GRAPHS:
            raise LoopError(f"there is no graph {params['graph']!r}; known: {', '.join(GRAPHS)}")
        ops, edges, warpgroups = GRAPHS[params["graph"]]
    else:
        ops, edges, warpgroups = params["ops"], params["edges"], params["warpgroups"]
    drawn = tuple(_op(text, random) for text in ops)
    shared = params["copies"] * sum(op.bytes for op in drawn)
    machine = Machine(UNITS, warpgroups, shared, BARRIERS)
    return Problem(drawn, tuple(map(_edge, edges)), machine, params["iterations"])


def _op(text: str, random: Random) -> Op:
    match = _OP.fullmatch(text)
    if match is None:
        raise LoopError(f"{text!r} is no operation; right is: load_k tma 100..260 +300..700 8..32 KiB")
    name, unit, *ends = match.groups()
    busy, more, size = (_drawn(text, ends[at], ends[at + 1], random) for at in (0, 2, 4))
    return Op(name, unit, busy, busy + more, 1024 * size)


def _drawn(text: str, low: str | None, high: str | None, random: Random) -> int:
    first, last = int(low or 0), int(high or low or 0)
    if not 0 <= first <= last:
        raise LoopError(f"{text!r}: {first}..{last} is no span of cycles or sizes")
    return random.randint(first, last)


def _edge(text: str) -> Edge:
    match = _EDGE.fullmatch(text)
    if match is None:
        raise LoopError(f"{text!r} is no edge; right is: values -> values @ 1")
    return Edge(match[1], match[2], int(match[3] or 0))
