"""A student's plan: its form, read from JSON, or the first thing that is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.task import Json

from .model import Problem, Sentences

MAX_CYCLE = 1 << 24
_KEYS = ("name", "start", "warpgroup", "buffers")


@dataclass(frozen=True)
class Plan:
    """A modulo schedule: iteration i starts an operation at `start` + i x `interval`."""

    interval: int
    start: Mapping[str, int]
    warpgroup: Mapping[str, int]
    buffers: Mapping[str, int]
    barriers: frozenset[tuple[str, str]]
    """(who arrives, who waits)."""


def read(problem: Problem, reply: Json) -> Plan | Sentences:
    """The plan in an answer, or the first thing wrong with its form."""
    if not isinstance(reply, dict) or set(reply) != {"interval", "ops", "barriers"}:
        return (
            "A dict with interval, ops and barriers is needed, and nothing else.",
            "需要恰好含 interval、ops 和 barriers 的字典。",
        )
    interval, ops, barriers = reply["interval"], reply["ops"], reply["barriers"]
    if not isinstance(ops, list) or not isinstance(barriers, list):
        return ("ops and barriers are lists.", "ops 和 barriers 是列表。")
    fault = (
        _number("", "interval", interval, 1) or _ops_fault(problem, ops) or _pairs_fault(problem, barriers)
    )
    if fault is not None:
        return fault
    entries = {str(entry["name"]): entry for entry in ops if isinstance(entry, dict)}
    start, warpgroup, buffers = (
        {name: int(str(entry[key])) for name, entry in entries.items()} for key in _KEYS[1:]
    )
    pairs = frozenset((str(pair[0]), str(pair[1])) for pair in barriers if isinstance(pair, list))
    return Plan(int(str(interval)), start, warpgroup, buffers, pairs)


def _ops_fault(problem: Problem, ops: Sequence[Json]) -> Sentences | None:
    names = {op.name for op in problem.ops}
    seen: set[str] = set()
    for entry in ops:
        if not isinstance(entry, dict) or not isinstance(name := entry.get("name"), str):
            return (
                f"An entry of ops is a dict with the name of an operation, not {_short(entry)}.",
                f"ops 的每一项是含操作名 name 的字典，而不是 {_short(entry)}。",
            )
        if name not in names:
            return (f"There is no operation {_short(name)}.", f"没有操作 {_short(name)}。")
        if name in seen:
            return (f"Operation {name} is planned twice.", f"操作 {name} 被安排了两次。")
        seen.add(name)
        if fault := _entry_fault(problem, name, entry):
            return fault
    if missing := sorted(names - seen):
        return (f"Operation {missing[0]} is missing.", f"缺少操作 {missing[0]}。")
    return None


def _entry_fault(problem: Problem, name: str, entry: Mapping[str, Json]) -> Sentences | None:
    if unknown := sorted(set(entry) - set(_KEYS)):
        return (
            f"{name}: {_short(unknown[0])} is unknown; an entry has name, start, warpgroup and buffers.",
            f"{name}：{_short(unknown[0])} 未知；每一项含 name、start、warpgroup 和 buffers。",
        )
    if missing := [key for key in _KEYS if key not in entry]:
        return (f"{name}: {missing[0]} is missing.", f"{name}：缺少 {missing[0]}。")
    for key, least in (("start", 0), ("warpgroup", 0), ("buffers", 1)):
        if fault := _number(f"{name}: ", key, entry[key], least):
            return fault
    most = problem.machine.warpgroups - 1
    if int(str(entry["warpgroup"])) > most:
        return (
            f"{name}: there is no warpgroup {entry['warpgroup']}; they are 0 to {most}.",
            f"{name}：没有 warpgroup {entry['warpgroup']}；编号为 0 到 {most}。",
        )
    return None


def _number(place: str, key: str, value: Json, least: int) -> Sentences | None:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_CYCLE:
        return None
    found = _short(value)
    return (
        f"{place}{key} is {found}; it is an integer from {least} to {MAX_CYCLE}.",
        f"{place}{key} 是 {found}；应为 {least} 到 {MAX_CYCLE} 的整数。",
    )


def _pairs_fault(problem: Problem, barriers: Sequence[Json]) -> Sentences | None:
    names = {op.name for op in problem.ops}
    seen: set[tuple[str, str]] = set()
    for pair in barriers:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            return (
                f"A barrier is a pair of operations, not {_short(pair)}.",
                f"屏障是一对操作，而不是 {_short(pair)}。",
            )
        one, other = str(pair[0]), str(pair[1])
        for end in (one, other):
            if end not in names:
                return (
                    f"Barrier ({_short(one)}, {_short(other)}): there is no operation {_short(end)}.",
                    f"屏障 ({_short(one)}, {_short(other)})：没有操作 {_short(end)}。",
                )
        if (one, other) in seen:
            return (f"The barrier ({one}, {other}) is listed twice.", f"屏障 ({one}, {other}) 被列出两次。")
        seen.add((one, other))
    if len(barriers) > problem.machine.barriers:
        count, most = len(barriers), problem.machine.barriers
        return (
            f"The plan is too large: {count} barriers; the machine has {most}.",
            f"方案过大：用了 {count} 个屏障；机器只有 {most} 个。",
        )
    return None


def _short(value: Json) -> str:
    """A value as it was given, cut to a line."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
