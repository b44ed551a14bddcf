"""Tiny collectives solved by trying every schedule, to hold the bound against."""

from random import Random

from grader.least_time import Items, least_time
from grader.task import Outcome

from . import bound


def outcome(name: str, seed: int) -> Outcome:
    """The least time of a drawn question, and its bound."""
    random = Random(seed)  # noqa: S311 (a tiny question, not a secret)
    # A reduce-scatter is an all-gather backwards; of three ranks it has too many schedules to try them all.
    ranks = 2 if name == "reduce_scatter" or seed % 3 == 2 else 3
    alpha, byte = random.randint(1, 9), random.randint(1, 4)
    # So has an all-reduce of three blocks.
    blocks = 1 if name == "all_reduce" and ranks > 2 else ranks
    size = random.randint(1, 4)
    everybody = (1 << ranks) - 1
    start: list[Items] = [
        frozenset((block, 1 << rank) for block in range(blocks) if name != "all_gather" or block == rank)
        for rank in range(ranks)
    ]

    def done(rank: int, known: Items) -> bool:
        if name == "all_gather":
            return len(known) == ranks
        wanted = range(blocks) if name == "all_reduce" else (rank,)
        return all((block, everybody) in known for block in wanted)

    value = least_time(start, done, alpha, size * byte)
    # One undivided block of S bytes is n blocks of S / n bytes that stay together.
    block_bytes = size if blocks == ranks else size / ranks
    least, by = bound.least(name, ranks, block_bytes, alpha, byte)
    return Outcome(True, value=value, bound=least, bound_by=by, quantity="time", unit="1")
