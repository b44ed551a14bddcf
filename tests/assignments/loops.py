"""Loops made at random, larger and odder than those of the assignment."""

from random import Random
from typing import Any


def made(graphs: Any, random: Random, count: int, iterations: int) -> Any:
    """Any graph of so many short operations: chains, forks, recurrences, results in memory and in registers.

    `graphs`: that module of the assignment.
    """
    units = [random.choice(("tma", "tensor", "tensor", "alu")) for _ in range(count)]
    edges = {(random.randrange(max(0, to - 4), to), to): 0 for to in range(1, count)}
    for _ in range(random.randint(0, 3)):
        source = random.randrange(count)
        edges.setdefault((source, random.randrange(source + 1)), random.randint(1, 2))
    ops = []
    for number, unit in enumerate(units):
        # What a load needs must lie in memory: loads have a warpgroup of their own.
        read = any(source == number and units[to] == "tma" for source, to in edges)
        kept = unit == "tma" or read or random.random() < 0.4
        size = f" {random.randint(1, 8)} KiB" if kept else ""
        ops.append(f"op{number} {unit} 1..6 +{'0..8' if unit == 'tma' else '0..2'}{size}")
    params = {
        "ops": ops,
        "edges": [f"op{source} -> op{to} @ {distance}" for (source, to), distance in edges.items()],
        "warpgroups": random.randint(1, 3),
        "copies": 4,
        "iterations": iterations,
    }
    return graphs.problem(params, random)
