"""The machine and the loop: a body of operations that a software pipeline overlaps, in whole cycles.

An operation holds its unit for `busy` cycles from its start and has its result `latency` cycles after it. It
is issued by one warpgroup, which issues one operation a cycle; an operation of a unit that blocks (the
arithmetic of the warpgroup's own threads) keeps its warpgroup for as long as its unit. A result lies in
shared memory (`bytes` a copy, for every warpgroup) or in registers (`bytes` 0, for its own warpgroup alone).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from grader.task import Json

Sentences: TypeAlias = tuple[str, str]
"""What is wrong, in English and Chinese."""


class LoopError(ValueError):
    """An author's loop that no machine can run; the text names the fault."""


@dataclass(frozen=True)
class Op:
    """One operation of the loop's body."""

    name: str
    unit: str
    busy: int
    latency: int
    bytes: int = 0


@dataclass(frozen=True)
class Edge:
    """`to` of iteration i needs the result of `source` of iteration i - `distance`."""

    source: str
    to: str
    distance: int = 0


@dataclass(frozen=True)
class Machine:
    """Units by name (true: its operations block their warpgroup), warpgroups, shared memory, barriers."""

    units: Mapping[str, bool]
    warpgroups: int
    shared_bytes: int
    barriers: int

    def hold(self, op: Op) -> int:
        """Cycles for which an operation keeps its warpgroup."""
        return op.busy if self.units[op.unit] else 1


@dataclass(frozen=True)
class Problem:
    """A loop of `iterations` on a machine. Raises LoopError where it is none."""

    ops: tuple[Op, ...]
    edges: tuple[Edge, ...]
    machine: Machine
    iterations: int

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise LoopError(fault)

    def op(self, name: str) -> Op:
        """The operation of that name."""
        return next(op for op in self.ops if op.name == name)

    def message(self) -> dict[str, Json]:
        """As the student gets it."""
        return {
            "ops": [
                {"name": o.name, "unit": o.unit, "busy": o.busy, "latency": o.latency, "bytes": o.bytes}
                for o in self.ops
            ],
            "edges": [{"from": e.source, "to": e.to, "distance": e.distance} for e in self.edges],
            "machine": {
                "units": dict(self.machine.units),
                "warpgroups": self.machine.warpgroups,
                "shared_bytes": self.machine.shared_bytes,
                "barriers": self.machine.barriers,
            },
            "iterations": self.iterations,
        }


def _faults(problem: Problem) -> Iterator[str]:
    names = [op.name for op in problem.ops]
    if not names or problem.iterations < 1:
        yield f"{len(names)} operations in {problem.iterations} iterations; at least one of each is needed"
    for name in names:
        if names.count(name) > 1:
            yield f"operation {name} occurs {names.count(name)} times"
    for op in problem.ops:
        if op.unit not in problem.machine.units:
            yield f"{op.name}: unknown unit {op.unit!r}; the machine has {', '.join(problem.machine.units)}"
        if op.busy < 1 or op.latency < op.busy or op.bytes < 0:
            yield (
                f"{op.name}: busy {op.busy}, latency {op.latency}, bytes {op.bytes}; "
                "right is 1 <= busy <= latency and 0 <= bytes"
            )
    for edge in problem.edges:
        for end in (edge.source, edge.to):
            if end not in names:
                yield f"edge {edge.source} -> {edge.to}: there is no operation {end}"
        if edge.distance < 0:
            yield f"edge {edge.source} -> {edge.to}: distance {edge.distance}; right is 0 or more"
    if circle := _circle(names, problem.edges):
        yield f"{' -> '.join(circle)}: an operation needs itself within one iteration"


def _circle(names: list[str], edges: tuple[Edge, ...]) -> list[str]:
    """Operations of one iteration that wait for each other, the first one twice; empty if none do."""
    left = set(names)
    while True:
        free = {
            name
            for name in left
            if not any(e.to == name and e.source in left and not e.distance for e in edges)
        }
        if not free:
            break
        left -= free
    if not left:
        return []
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(min(e.source for e in edges if e.to == path[-1] and e.source in left and not e.distance))
    return path[path.index(path[-1]) :][::-1]
