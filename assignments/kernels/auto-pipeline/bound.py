"""Least cycles of any schedule of a loop, modulo or not. The proof is in the README."""

from .model import Problem


def bound(problem: Problem) -> tuple[int, str]:
    """Least cycles from the first start to the last result, and what binds them."""
    head, tail = _heads(problem), _tails(problem)
    found = [(max(head[op.name] + tail[op.name] for op in problem.ops), "critical path")]
    for unit in problem.machine.units:
        ops = [op for op in problem.ops if op.unit == unit]
        if ops:
            work = problem.iterations * sum(op.busy for op in ops)
            before = min(head[op.name] for op in ops)
            after = min(tail[op.name] - op.busy for op in ops)
            found.append((before + work + after, unit))
    held = problem.iterations * sum(problem.machine.hold(op) for op in problem.ops)
    found.append((-(-held // problem.machine.warpgroups), "issue"))
    for latency, distance, name in _cycles(problem):
        turns = (problem.iterations - 1) // distance
        found.append((head[name] + turns * latency + tail[name], "recurrence"))
    return max(found)


def _heads(problem: Problem) -> dict[str, int]:
    """Earliest start of each operation within an iteration."""
    head = {op.name: 0 for op in problem.ops}
    for _ in problem.ops:
        for edge in problem.edges:
            if edge.distance == 0:
                ready = head[edge.source] + problem.op(edge.source).latency
                head[edge.to] = max(head[edge.to], ready)
    return head


def _tails(problem: Problem) -> dict[str, int]:
    """Least cycles from the start of each operation to the end of its iteration."""
    tail = {op.name: op.latency for op in problem.ops}
    for _ in problem.ops:
        for edge in problem.edges:
            if edge.distance == 0:
                after = problem.op(edge.source).latency + tail[edge.to]
                tail[edge.source] = max(tail[edge.source], after)
    return tail


def _cycles(problem: Problem) -> list[tuple[int, int, str]]:
    """(latency, distance, an operation on it) of every simple cycle of the graph."""
    found = []

    def walk(first: str, at: str, latency: int, distance: int, seen: frozenset[str]) -> None:
        for edge in problem.edges:
            if edge.source != at:
                continue
            longer, further = latency + problem.op(at).latency, distance + edge.distance
            if edge.to == first:
                found.append((longer, further, first))
            elif edge.to not in seen and edge.to > first:
                walk(first, edge.to, longer, further, seen | {edge.to})

    for op in problem.ops:
        walk(op.name, op.name, 0, 0, frozenset((op.name,)))
    return found
