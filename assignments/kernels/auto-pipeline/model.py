"""The machine: a loop of operations in a software pipeline, replayed in whole cycles.

An operation holds its unit for `busy` cycles from its start and has its result `latency` cycles after it. It
is issued by one warpgroup, which issues one operation a cycle; an operation of a unit that blocks (the
arithmetic of the warpgroup's own threads) keeps its warpgroup for as long as its unit. A result lies in
shared memory (`bytes` a copy, for every warpgroup) or in registers (`bytes` 0, for its own warpgroup alone).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from grader.task import Json

Sentences: TypeAlias = tuple[str, str]
"""What is wrong, in English and Chinese."""
MAX_CYCLE = 1 << 24


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


@dataclass(frozen=True)
class Problem:
    """A loop of `iterations` on a machine."""

    ops: tuple[Op, ...]
    edges: tuple[Edge, ...]
    machine: Machine
    iterations: int

    def op(self, name: str) -> Op:
        """The operation of that name."""
        return next(op for op in self.ops if op.name == name)

    def message(self) -> Json:
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


@dataclass(frozen=True)
class Plan:
    """A modulo schedule: iteration i starts an operation at `start` + i x `interval`."""

    interval: int
    start: Mapping[str, int]
    warpgroup: Mapping[str, int]
    buffers: Mapping[str, int]
    barriers: frozenset[tuple[str, str]]


def read(problem: Problem, reply: Json) -> "Plan | Sentences":
    """The plan in an answer, or the first thing wrong with its form."""
    if not isinstance(reply, dict) or set(reply) != {"interval", "ops", "barriers"}:
        return (
            "A dict with interval, ops and barriers is needed.",
            "需要含 interval、ops 和 barriers 的字典。",
        )
    interval, ops, barriers = reply["interval"], reply["ops"], reply["barriers"]
    if not _whole(interval, 1):
        wrong = f"interval is {interval!r}; it is an integer from 1 up."
        return (wrong, f"interval 是 {interval!r}；应为不小于 1 的整数。")
    if not isinstance(ops, dict) or not isinstance(barriers, list):
        return ("ops is a dict and barriers a list.", "ops 是字典，barriers 是列表。")
    fault = _ops_fault(problem, ops) or _pairs_fault(problem, barriers)
    if fault is not None:
        return fault
    values: dict[str, dict[str, int]] = {"start": {}, "warpgroup": {}, "buffers": {}}
    for name, entry in ops.items():
        assert isinstance(entry, dict)
        for key, found in values.items():
            found[name] = int(str(entry[key]))
    pairs = frozenset((str(pair[0]), str(pair[1])) for pair in barriers if isinstance(pair, list))
    return Plan(int(str(interval)), values["start"], values["warpgroup"], values["buffers"], pairs)


def _ops_fault(problem: Problem, ops: Mapping[str, Json]) -> Sentences | None:
    names = {op.name for op in problem.ops}
    for name in sorted(names ^ set(ops)):
        if name in names:
            return (f"Operation {name} is missing.", f"缺少操作 {name}。")
        return (f"There is no operation {name}.", f"没有操作 {name}。")
    for name, entry in ops.items():
        if not isinstance(entry, dict) or set(entry) != {"start", "warpgroup", "buffers"}:
            wrong = f"{name} needs start, warpgroup and buffers."
            return (wrong, f"{name} 需要 start、warpgroup 和 buffers。")
        for key, least in (("start", 0), ("warpgroup", 0), ("buffers", 1)):
            value = entry[key]
            if not _whole(value, least):
                wrong = f"{name}: {key} is {value!r}; it is an integer from {least} up."
                return (wrong, f"{name}：{key} 是 {value!r}；应为不小于 {least} 的整数。")
        most = problem.machine.warpgroups - 1
        if int(str(entry["warpgroup"])) > most:
            return (f"{name}: warpgroups are 0 to {most}.", f"{name}：warpgroup 的编号为 0 到 {most}。")
    return None


def _pairs_fault(problem: Problem, barriers: Sequence[Json]) -> Sentences | None:
    names = {op.name for op in problem.ops}
    for number, pair in enumerate(barriers):
        if not isinstance(pair, list) or len(pair) != 2 or not all(end in names for end in map(str, pair)):
            return (f"A barrier is a pair of operations, not {pair!r}.", f"屏障是一对操作，而不是 {pair!r}。")
        if pair in barriers[:number]:
            return (f"The barrier {pair!r} is listed twice.", f"屏障 {pair!r} 被列出两次。")
    return None


def _whole(value: Json, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_CYCLE


def fault(problem: Problem, plan: Plan) -> Sentences | None:
    """The first rule that a plan breaks."""
    return (
        _dependences(problem, plan)
        or _conflicts(problem, plan)
        or _registers(problem, plan)
        or _buffers(problem, plan)
        or _barriers(problem, plan)
    )


def cycles(problem: Problem, plan: Plan) -> int:
    """From the first start to the last result, of all iterations."""
    first = min(plan.start.values())
    last = max(plan.start[op.name] + op.latency for op in problem.ops)
    return last - first + (problem.iterations - 1) * plan.interval


def _dependences(problem: Problem, plan: Plan) -> Sentences | None:
    for edge in problem.edges:
        ready = plan.start[edge.source] + problem.op(edge.source).latency
        begins = plan.start[edge.to] + edge.distance * plan.interval
        if begins < ready:
            return (
                f"{edge.to} starts at {begins}, but needs {edge.source}, which is ready at {ready}.",
                f"{edge.to} 在 {begins} 开始，但它需要的 {edge.source} 到 {ready} 才就绪。",
            )
    return None


def hold(machine: Machine, op: Op) -> int:
    """Cycles for which an operation keeps its warpgroup."""
    return op.busy if machine.units[op.unit] else 1


def _conflicts(problem: Problem, plan: Plan) -> Sentences | None:
    """No unit and no warpgroup does two things in one cycle, in the steady state."""
    held: dict[str, list[tuple[int, int, str]]] = {}
    for op in problem.ops:
        at = plan.start[op.name]
        held.setdefault(f"unit {op.unit}", []).append((at, op.busy, op.name))
        kept = hold(problem.machine, op)
        held.setdefault(f"warpgroup {plan.warpgroup[op.name]}", []).append((at, kept, op.name))
    for resource, uses in held.items():
        if overlap := _overlap(uses, plan.interval):
            one, other = overlap
            return (
                f"{one} and {other} hold {resource} at the same time, modulo {plan.interval}.",
                f"{one} 与 {other} 同时占用 {resource}（模 {plan.interval}）。",
            )
    return None


def _overlap(uses: Sequence[tuple[int, int, str]], interval: int) -> tuple[str, str] | None:
    spans = sorted((at % interval, length, name) for at, length, name in uses)
    for _, length, name in spans:
        if length > interval:
            return name, name
    wrapped = [*spans, (spans[0][0] + interval, spans[0][1], spans[0][2])]
    for (at, length, name), (following, _, other) in pairwise(wrapped):
        if at + length > following:
            return name, other
    return None


def _registers(problem: Problem, plan: Plan) -> Sentences | None:
    for edge in problem.edges:
        if not problem.op(edge.source).bytes and plan.warpgroup[edge.source] != plan.warpgroup[edge.to]:
            return (
                f"{edge.to} reads {edge.source} from registers, so both are of one warpgroup.",
                f"{edge.to} 从寄存器读取 {edge.source}，两者必须属于同一个 warpgroup。",
            )
    return None


def lifetime(problem: Problem, plan: Plan, name: str) -> int:
    """Cycles from the start of a write to the end of the last read of it."""
    ends = [
        plan.start[edge.to] + edge.distance * plan.interval + problem.op(edge.to).busy
        for edge in problem.edges
        if edge.source == name
    ]
    written = plan.start[name] + problem.op(name).latency
    return max([written, *ends]) - plan.start[name]


def _buffers(problem: Problem, plan: Plan) -> Sentences | None:
    total = 0
    for op in problem.ops:
        if not op.bytes:
            continue
        total += op.bytes * plan.buffers[op.name]
        needed = -(-lifetime(problem, plan, op.name) // plan.interval)
        if plan.buffers[op.name] < needed:
            return (
                f"{op.name} is overwritten before it was read: it needs {needed} buffers.",
                f"{op.name} 在被读取之前就被覆盖：它需要 {needed} 个缓冲区。",
            )
    if total > problem.machine.shared_bytes:
        most = problem.machine.shared_bytes
        return (f"The buffers take {total} bytes of {most}.", f"缓冲区占用 {total} 字节，上限为 {most}。")
    return None


def needed_barriers(problem: Problem, plan: Plan) -> set[tuple[str, str]]:
    """(who arrives, who waits): full before each read by another warpgroup, empty before each overwriting."""
    needed = set()
    for edge in problem.edges:
        if plan.warpgroup[edge.source] != plan.warpgroup[edge.to]:
            needed |= {(edge.source, edge.to), (edge.to, edge.source)}
    return needed


def _barriers(problem: Problem, plan: Plan) -> Sentences | None:
    needed = needed_barriers(problem, plan)
    for one, other in sorted(needed - plan.barriers):
        return (
            f"{other} does not wait for {one} of another warpgroup: a barrier ({one}, {other}) is missing.",
            f"{other} 没有等待另一个 warpgroup 的 {one}：缺少屏障 ({one}, {other})。",
        )
    for one, other in sorted(plan.barriers - needed):
        return (
            f"{other} waits for {one}, which never arrives there: deadlock.",
            f"{other} 等待的 {one} 永远不会到达：死锁。",
        )
    if len(plan.barriers) > problem.machine.barriers:
        count, most = len(plan.barriers), problem.machine.barriers
        return (f"{count} barriers; the machine has {most}.", f"用了 {count} 个屏障；机器只有 {most} 个。")
    return None


def bound(problem: Problem) -> tuple[int, str]:
    """Least cycles of any schedule, modulo or not, and what binds it. The proof is in the README."""
    head, tail = _heads(problem), _tails(problem)
    found = [(max(head[op.name] + tail[op.name] for op in problem.ops), "critical path")]
    for unit in problem.machine.units:
        ops = [op for op in problem.ops if op.unit == unit]
        if ops:
            work = problem.iterations * sum(op.busy for op in ops)
            before = min(head[op.name] for op in ops)
            after = min(tail[op.name] - op.busy for op in ops)
            found.append((before + work + after, unit))
    held = problem.iterations * sum(hold(problem.machine, op) for op in problem.ops)
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
