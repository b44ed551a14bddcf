"""Which experts each token goes to, and what follows for the ranks; the same on every rank from one seed.

A case's parameters: `ranks` (n), `experts` (E, of which rank r has those from r E // n up to (r + 1) E // n),
`top` (k experts a token), `tokens` (the most that a rank has), `width`, `dtype`, and `routing`:

- `even`: k different experts of equal chance;
- `hot`: the first of them is expert 0, for three tokens of four;
- `one`: all tokens to one expert, the others stay empty;
- `own`: only experts of the token's own rank;
- `twice`: the same expert may occur twice among the k.

Ranks have `tokens` tokens each, or with `uneven` fewer and some none.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader import fills
from grader.task import Params

Table = np.ndarray[Any, np.dtype[np.int64]]
"""[tokens of one rank, k]: experts."""


def counts(params: Params) -> list[int]:
    """Tokens of each rank."""
    most, ranks = params["tokens"], params["ranks"]
    if not params.get("uneven"):
        return [most] * ranks
    return [most * ((3 * rank + 1) % 4) // 3 for rank in range(ranks)]


def owners(params: Params) -> list[int]:
    """The rank of each expert."""
    experts, ranks = params["experts"], params["ranks"]
    edges = [rank * experts // ranks for rank in range(ranks + 1)]
    return [rank for rank in range(ranks) for _ in range(edges[rank], edges[rank + 1])]


def tables(params: Params, seed: int) -> list[Table]:
    """The experts of every token of every rank."""
    random = fills.generator(seed, "routing")
    return [_table(params, rank, count, random) for rank, count in enumerate(counts(params))]


def _table(params: Params, rank: int, count: int, random: np.random.Generator) -> Table:
    experts, top = params["experts"], params["top"]
    match params.get("routing", "even"):
        case "one":
            return np.full((count, top), experts // 2, np.int64)
        case "twice":
            return random.integers(0, experts, (count, top))
        case "own":
            mine = [expert for expert, owner in enumerate(owners(params)) if owner == rank]
            return random.choice(mine, (count, top))
    table = random.permuted(np.tile(np.arange(experts), (count, 1)), axis=1)[:, :top]
    if params.get("routing") == "hot":
        warm = (random.random(count) < 0.75) & ~(table == 0).any(1)
        table[warm, 0] = 0
    return table


def visits(params: Params, experts: Table) -> list[list[int]]:
    """By rank, the tokens of one rank that some expert there is to see, in their order."""
    owner = np.array(owners(params))
    seen = owner[experts] if len(experts) else np.empty((0, params["top"]), np.int64)
    return [np.flatnonzero((seen == rank).any(1)).tolist() for rank in range(params["ranks"])]


def traffic(params: Params, experts: Sequence[Table]) -> list[list[int]]:
    """[from][to] -> tokens that must go there; each counts once for a rank."""
    return [[len(tokens) for tokens in visits(params, table)] for table in experts]


def busiest(params: Params, experts: Sequence[Table]) -> tuple[int, int]:
    """The most (rows that come to a rank from others, tokens of a rank that others are to see)."""
    sent = traffic(params, experts)
    ranks = range(len(sent))
    arriving = max(sum(sent[source][to] for source in ranks if source != to) for to in ranks)
    leaving = 0
    for rank, table in enumerate(experts):
        seen = visits(params, table)
        leaving = max(leaving, len({token for to in ranks if to != rank for token in seen[to]}))
    return arriving, leaving


def most_rows(params: Params) -> int:
    """Most tokens that any rank can receive."""
    return max(1, sum(counts(params)))
