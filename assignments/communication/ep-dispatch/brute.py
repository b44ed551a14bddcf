"""Tiny exchanges of tokens solved by trying every schedule, to hold the bound against."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from grader.least_time import Items, least_time
from grader.task import Outcome

RANKS = 3
_NS = 1000
"""A byte of the network takes a nanosecond: so does one of a row of one byte here."""


def outcome(
    name: str, seed: int, bound: Callable[[Any, Sequence[Sequence[int]]], tuple[float, str]]
) -> Outcome:
    """The least time of a drawn exchange of at most 3 rows between 3 ranks, and its bound.

    Rows are independent of each other: the partial results of a token that several ranks send back may be
    added up on the way, which for rows of different tokens is never possible.
    """
    random = Random(seed)  # noqa: S311 (a tiny question, not a secret)
    width = random.choice((500, 2000, 8000))
    traffic = [[0] * RANKS for _ in range(RANKS)]
    needs: list[set[int]] = [set() for _ in range(RANKS)]
    start: list[set[tuple[int, int]]] = [set() for _ in range(RANKS)]
    for row in range(random.randint(1, 3)):
        source, to = random.sample(range(RANKS), 2)
        if name == "combine":
            source, to = to, source
        traffic[source][to] += 1
        start[source].add((row, 1))
        needs[to].add(row)

    def done(rank: int, known: Items) -> bool:
        return all((row, 1) in known for row in needs[rank])

    value = least_time([frozenset(mine) for mine in start], done, 2 * _NS, width)
    params = {"width": width, "dtype": "int8"}
    least, by = bound(params, traffic)
    return Outcome(True, value=value, bound=least, bound_by=by, quantity="time", unit="ns")
