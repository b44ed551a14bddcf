"""Loops of real kernels with drawn timings: what each case asks about.

Parameters of a case: `graph` (one of `GRAPHS`), `iterations`, and `copies`, how often every result fits into
shared memory.
"""

from random import Random

from grader.task import Params

from .model import Edge, Machine, Op, Problem

UNITS = {"tma": False, "tensor": False, "alu": True}
BARRIERS = 32


def problem(params: Params, random: Random) -> Problem:
    """The loop of a case."""
    ops, edges, warpgroups = GRAPHS[params["graph"]](random)
    shared = params["copies"] * sum(op.bytes for op in ops)
    return Problem(
        tuple(ops), tuple(edges), Machine(UNITS, warpgroups, shared, BARRIERS), params["iterations"]
    )


def _load(random: Random, name: str) -> Op:
    busy = random.randrange(100, 260)
    return Op(name, "tma", busy, busy + random.randrange(300, 700), 1024 * random.randrange(8, 33))


def _product(random: Random, name: str) -> Op:
    busy = random.randrange(300, 700)
    return Op(name, "tensor", busy, busy)


def gemm(random: Random) -> tuple[list[Op], list[Edge], int]:
    """Two loads and a product that adds to its own result."""
    ops = [_load(random, "load_a"), _load(random, "load_b"), _product(random, "product")]
    return ops, [Edge("load_a", "product"), Edge("load_b", "product"), Edge("product", "product", 1)], 2


def dequant(random: Random) -> tuple[list[Op], list[Edge], int]:
    """As gemm, with weights that a warpgroup unpacks into shared memory first."""
    busy = random.randrange(200, 600)
    ops = [
        _load(random, "load_x"),
        _load(random, "load_w"),
        Op("unpack", "alu", busy, busy + 20, 1024 * random.randrange(8, 33)),
        _product(random, "product"),
    ]
    edges = [
        Edge("load_w", "unpack"),
        Edge("unpack", "product"),
        Edge("load_x", "product"),
        Edge("product", "product", 1),
    ]
    return ops, edges, 3


def _attention(random: Random, tile: str) -> tuple[list[Op], list[Edge]]:
    scores, values = _product(random, f"scores{tile}"), _product(random, f"values{tile}")
    # A softmax that fits beside one product: a longer one would keep its warpgroup from issuing the next.
    busy = random.randrange(150, min(scores.busy, values.busy) - 20)
    ops = [scores, Op(f"softmax{tile}", "alu", busy, busy + 20), values]
    edges = [
        Edge("load_k", f"scores{tile}"),
        Edge(f"scores{tile}", f"softmax{tile}"),
        Edge(f"softmax{tile}", f"softmax{tile}", 1),
        Edge(f"softmax{tile}", f"values{tile}"),
        Edge("load_v", f"values{tile}"),
        Edge(f"values{tile}", f"values{tile}", 1),
    ]
    return ops, edges


def attention(random: Random) -> tuple[list[Op], list[Edge], int]:
    """One tile of queries: two products with a softmax between them."""
    ops, edges = _attention(random, "")
    return [_load(random, "load_k"), _load(random, "load_v"), *ops], edges, 2


def pingpong(random: Random) -> tuple[list[Op], list[Edge], int]:
    """Two tiles of queries share the loads: one's softmax runs beside the other's products."""
    first, second = _attention(random, "_0"), _attention(random, "_1")
    loads = [_load(random, "load_k"), _load(random, "load_v")]
    return [*loads, *first[0], *second[0]], [*first[1], *second[1]], 3


GRAPHS = {"gemm": gemm, "dequant": dequant, "attention": attention, "pingpong": pingpong}
