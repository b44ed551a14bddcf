"""Tiny exchanges of tokens solved by trying every schedule, to hold the bound against."""

from collections.abc import Callable
from random import Random
from typing import Any

from grader.least_time import Items, least_time
from grader.task import Outcome

RANKS = 3
_ALPHA_NS = 1000
"""Of the network of `task.py`, on which a byte takes two nanoseconds."""


def outcome(name: str, seed: int, bound: Callable[[Any, int, int], tuple[float, str]]) -> Outcome:
    """The least time of a drawn exchange of at most 2 tokens between 3 ranks, and its bound.

    Relays are among the schedules: a token may be handed on, results may be added up on their way.
    """
    random = Random(seed)  # noqa: S311 (a tiny question, not a secret)
    width = random.choice((250, 1000, 4000))
    start: list[set[tuple[int, int]]] = [set() for _ in range(RANKS)]
    needs: list[set[tuple[int, int]]] = [set() for _ in range(RANKS)]
    arriving, leaving = [0] * RANKS, [0] * RANKS
    for token in range(random.randint(1, 2)):
        home = random.randrange(RANKS)
        seen = random.sample([rank for rank in range(RANKS) if rank != home], random.randint(1, 2))
        leaving[home] += 1
        everything = sum(1 << rank for rank in seen)
        for rank in seen:
            arriving[rank] += 1
            (start if name == "combine" else needs)[rank].add((token, 1 << rank if name == "combine" else 1))
        (needs if name == "combine" else start)[home].add((token, everything if name == "combine" else 1))

    def done(rank: int, known: Items) -> bool:
        return needs[rank] <= known

    value = least_time([frozenset(mine) for mine in start], done, _ALPHA_NS, 2 * width)
    least, by = bound({"width": width, "dtype": "int8"}, max(arriving), max(leaving))
    return Outcome(True, value=value, bound=least, bound_by=by, quantity="time", unit="ns")
