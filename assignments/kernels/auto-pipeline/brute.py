"""Tiny loops and all of their plans: what the bound is held against."""

from collections.abc import Iterator
from itertools import product
from random import Random

from grader.task import Outcome

from .bound import bound
from .graphs import BARRIERS, UNITS
from .model import Edge, Machine, Op, Problem
from .plan import Plan
from .replay import replay

OPS, LATEST, LONGEST = 3, 7, 9


def outcome(seed: int) -> Outcome:
    """The best plan of a tiny loop, and the bound."""
    problem = tiny(Random(seed), OPS, 1 + seed % 3)  # noqa: S311 (questions that nobody is graded on)
    least, by = bound(problem)
    found = (replay(problem, plan) for plan in plans(problem))
    best = min(cycles for cycles in found if isinstance(cycles, int))
    return Outcome(True, value=float(best), bound=float(least), bound_by=by, unit="cycles")


def tiny(random: Random, count: int, iterations: int) -> Problem:
    """A chain of a few short operations with a recurrence, on one warpgroup with memory for everything."""
    ops = []
    for number in range(count):
        busy = random.randint(1, 2)
        ops.append(
            Op(
                f"op{number}",
                random.choice(sorted(UNITS)),
                busy,
                busy + random.randrange(2),
                random.choice((0, 8)),
            )
        )
    edges = [Edge(f"op{number}", f"op{number + 1}") for number in range(count - 1)]
    back = random.randrange(count)
    edges.append(Edge(f"op{random.randrange(back, count)}", f"op{back}", random.randint(1, 2)))
    return Problem(tuple(ops), tuple(edges), Machine(UNITS, 1, 1 << 20, BARRIERS), iterations)


def plans(problem: Problem) -> Iterator[Plan]:
    """Every plan with short intervals and early starts."""
    names = [op.name for op in problem.ops]
    one, many = dict.fromkeys(names, 0), dict.fromkeys(names, 50)
    for interval in range(1, LONGEST + 1):
        for starts in product(range(LATEST + 1), repeat=len(names)):
            yield Plan(interval, dict(zip(names, starts, strict=True)), one, many, frozenset())
