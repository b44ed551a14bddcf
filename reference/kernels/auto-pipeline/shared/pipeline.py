"""Modulo scheduling. From the least interval up, operations are placed greedily in many orders; loads are then moved
as late as their readers allow, which saves buffers.
"""

import random

ATTEMPTS = 60
STEPS = 12
"""Placements for each operation before an order is given up."""
FURTHER = 12
"""Intervals that are tried above the first one with a plan: they pay in short loops alone, and little."""
SPREAD = 0.5
"""How far orders differ from that of the longest way to the end."""


def schedule(ops, edges, machine, iterations):
    """The best plan that was found."""
    loop = Loop(ops, edges, machine, iterations)
    least = least_interval(loop)
    rng = random.Random(1)
    best = None
    interval = least
    further = 0
    while interval <= 4 * least and further <= FURTHER:
        for attempt in range(ATTEMPTS):
            start = place(loop, interval, rng, attempt)
            plan = start and finish(loop, interval, start)
            if plan is None:
                continue
            cost = length(loop, plan)
            if best is None or cost < best[0]:
                best = cost, plan
            if cost <= loop.goal:
                return plan
        further += best is not None
        interval += 1 + (best is None) * (interval // 200)
        # The shortest iteration that there can be still costs its critical path.
        if best is not None and (iterations - 1) * interval + loop.critical >= best[0]:
            break
    return best[1]


class Loop:
    """The question, indexed."""

    def __init__(self, ops, edges, machine, iterations):
        self.ops = {op["name"]: op for op in ops}
        self.edges = edges
        self.machine = machine
        self.iterations = iterations
        self.into = {name: [e for e in edges if e["to"] == name and e["from"] != name] for name in self.ops}
        self.out = {name: [e for e in edges if e["from"] == name] for name in self.ops}
        self.group = warpgroups(self)
        self.tail = {name: op["latency"] for name, op in self.ops.items()}
        for _ in ops:
            for e in edges:
                if e["distance"] == 0:
                    after = self.ops[e["from"]]["latency"] + self.tail[e["to"]]
                    self.tail[e["from"]] = max(self.tail[e["from"]], after)
        self.critical = max(self.tail.values())
        self.goal = goal(self)


def goal(loop):
    """Cycles that no plan beats: what the busiest unit needs, and the least that goes before and after it."""
    head = {name: 0 for name in loop.ops}
    for _ in loop.ops:
        for e in loop.edges:
            if e["distance"] == 0:
                head[e["to"]] = max(head[e["to"]], head[e["from"]] + loop.ops[e["from"]]["latency"])
    found = [loop.critical]
    for unit in loop.machine["units"]:
        own = [op for op in loop.ops.values() if op["unit"] == unit]
        if own:
            before = min(head[op["name"]] for op in own)
            after = min(loop.tail[op["name"]] - op["busy"] for op in own)
            found.append(before + loop.iterations * sum(op["busy"] for op in own) + after)
    return max(found)


def holds(loop, op):
    """Cycles for which an operation keeps its warpgroup."""
    return op["busy"] if loop.machine["units"][op["unit"]] else 1


def length(loop, plan):
    """Cycles of all iterations."""
    starts = [entry["start"] for entry in plan["ops"]]
    ends = [entry["start"] + loop.ops[entry["name"]]["latency"] for entry in plan["ops"]]
    return max(ends) - min(starts) + (loop.iterations - 1) * plan["interval"]


def least_interval(loop):
    """What the busiest unit needs, and what an operation needs that waits for itself."""
    busy = {}
    for op in loop.ops.values():
        busy[op["unit"]] = busy.get(op["unit"], 0) + op["busy"]
    own = [-(-loop.ops[e["from"]]["latency"] // e["distance"]) for e in loop.edges if e["from"] == e["to"]]
    return max([*busy.values(), *own])


def warpgroups(loop):
    """Operations tied by registers share a warpgroup; loads have warpgroup 0 for themselves."""
    tie = {name: name for name in loop.ops}

    def root(name):
        while tie[name] != name:
            name = tie[name]
        return name

    for edge in loop.edges:
        if not loop.ops[edge["from"]]["bytes"]:
            tie[root(edge["from"])] = root(edge["to"])
    numbers, found = {}, {}
    for name, op in loop.ops.items():
        if op["unit"] == "tma":
            found[name] = 0
            continue
        top = root(name)
        if top not in numbers:
            numbers[top] = min(len(numbers) + 1, loop.machine["warpgroups"] - 1)
        found[name] = numbers[top]
    return found


def clear(spans, at, size, interval):
    """Whether nothing of `spans` is in the way, modulo the interval."""
    at %= interval
    return all((at - a) % interval >= s and (a - at) % interval >= size for a, s in spans)


def ready(loop, edge):
    """Cycles from the start of an operation until an edge's result is there."""
    return loop.ops[edge["from"]]["latency"]


def place(loop, interval, rng, attempt):
    """A start for each operation, None if none was found: what stands in the way is taken out again (Rau, 1994)."""
    weight = {name: tail * rng.uniform(1 - SPREAD * (attempt > 0), 1) for name, tail in loop.tail.items()}
    start, last = {}, {}
    for _ in range(STEPS * len(loop.ops)):
        left = [name for name in loop.ops if name not in start]
        if not left:
            return start
        name = max(left, key=weight.get)
        op = loop.ops[name]
        at = max([0, *(begin(loop, e, start, interval) for e in loop.into[name] if e["from"] in start)])
        if loop.machine["units"][op["unit"]]:
            at += attempt % 2  # Leaves the cycle free in which the next product must be issued.
        unit, issue = taken(loop, name, start, interval)
        able = [
            c
            for c in candidates(loop, at, unit, issue, op, interval)
            if fits(loop, op, c, unit, issue, interval)
        ]
        start[name] = last[name] = able[0] if able else max(at, last.get(name, -1) + 1)
        for other in [other for other in start if other != name]:
            if collide(loop, name, other, start, interval) or any(
                start[other] < begin(loop, e, start, interval) for e in loop.into[other] if e["from"] == name
            ):
                del start[other]
    return None


def begin(loop, edge, start, interval):
    """The least start that an edge allows."""
    return start[edge["from"]] + ready(loop, edge) - edge["distance"] * interval


def taken(loop, name, start, interval):
    """Spans of the unit and of the warpgroup of an operation that others hold."""
    unit, issue = [], []
    for other, at in start.items():
        if loop.ops[other]["unit"] == loop.ops[name]["unit"]:
            unit.append((at % interval, loop.ops[other]["busy"]))
        if loop.group[other] == loop.group[name]:
            issue.append((at % interval, holds(loop, loop.ops[other])))
    return unit, issue


def collide(loop, name, other, start, interval):
    """Whether two operations hold a unit or a warpgroup at once."""
    unit, issue = taken(loop, name, {other: start[other]}, interval)
    return not fits(loop, loop.ops[name], start[name], unit, issue, interval)


def fits(loop, op, at, unit, issue, interval):
    """Whether the unit and the warpgroup are free."""
    return clear(unit, at, op["busy"], interval) and clear(issue, at, holds(loop, op), interval)


def candidates(loop, at, unit, issue, op, interval):
    """The earliest start, and the ends of what is in the way."""
    ends = [a + s for a, s in (*unit, *issue)]
    ends += [a - op["busy"] for a, _ in unit] + [a - holds(loop, op) for a, _ in issue]
    return sorted({at, *(at + (end - at) % interval for end in ends)})


def finish(loop, interval, start):
    """The whole plan, None if its buffers do not fit."""
    for name, op in loop.ops.items():
        if op["unit"] == "tma" and loop.out[name]:
            postpone(loop, name, interval, start)
    counts = {name: buffers(loop, name, interval, start) for name in loop.ops}
    if sum(op["bytes"] * counts[name] for name, op in loop.ops.items()) > loop.machine["shared_bytes"]:
        return None
    first = min(start.values())
    entries = [
        {"name": name, "start": start[name] - first, "warpgroup": loop.group[name], "buffers": counts[name]}
        for name in loop.ops
    ]
    return {"interval": interval, "ops": entries, "barriers": sorted(map(list, barriers(loop)))}


def buffers(loop, name, interval, start):
    """Copies of a result that are alive at once."""
    op = loop.ops[name]
    if not op["bytes"]:
        return 1
    ends = [start[e["to"]] + e["distance"] * interval + loop.ops[e["to"]]["busy"] for e in loop.out[name]]
    return -(-(max([start[name] + op["latency"], *ends]) - start[name]) // interval)


def barriers(loop):
    """One for full and one for empty where a result goes to another warpgroup."""
    across = [(e["from"], e["to"]) for e in loop.edges if loop.group[e["from"]] != loop.group[e["to"]]]
    return {*across, *((other, one) for one, other in across)}


def postpone(loop, name, interval, start):
    """Start a load as late as its readers allow."""
    op = loop.ops[name]
    latest = min(start[e["to"]] + e["distance"] * interval - ready(loop, e) for e in loop.out[name])
    rest = {other: at for other, at in start.items() if other != name}
    unit, issue = taken(loop, name, rest, interval)
    options = {
        latest,
        *(latest - (latest - a + op["busy"]) % interval for a, _ in unit),
        *(latest - (latest - a + 1) % interval for a, _ in issue),
    }
    for at in sorted((at for at in options if start[name] < at <= latest), reverse=True):
        if fits(loop, op, at, unit, issue, interval):
            start[name] = at
            return
