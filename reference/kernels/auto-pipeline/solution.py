# solmark: verdict=accepted
# Modulo scheduling: from the least interval up, operations are placed greedily in many orders; loads are then moved
# as late as their readers allow, which saves buffers.
import random


def schedule(ops, edges, machine, iterations):
    groups = warpgroups(ops, edges, machine)
    least = least_interval(ops, edges)
    rng = random.Random(1)
    best = None
    interval = least
    while best is None or interval <= best[0]["interval"]:
        for attempt in range(60):
            start = place(ops, edges, machine, groups, interval, rng, attempt)
            if start is None:
                continue
            plan = finish(ops, edges, machine, groups, interval, start)
            if plan is None:
                continue
            cost = length(ops, plan, iterations)
            if best is None or cost < best[1]:
                best = plan, cost
        interval += 1 + (best is None) * (interval // 200)
        if best is not None and (iterations - 1) * interval >= best[1]:
            break
        if interval > 2 * least and best is not None:
            break
    return best[0]


def length(ops, plan, iterations):
    starts = [plan["ops"][op["name"]]["start"] for op in ops]
    ends = [plan["ops"][op["name"]]["start"] + op["latency"] for op in ops]
    return max(ends) - min(starts) + (iterations - 1) * plan["interval"]


def least_interval(ops, edges):
    busy = {}
    for op in ops:
        busy[op["unit"]] = busy.get(op["unit"], 0) + op["busy"]
    own = {op["name"]: op["latency"] for op in ops}
    loops = [-(-own[e["from"]] // e["distance"]) for e in edges if e["from"] == e["to"]]
    return max([*busy.values(), *loops])


def warpgroups(ops, edges, machine):
    """Operations tied by registers share a warpgroup; loads have warpgroup 0 for themselves."""
    tie = {op["name"]: op["name"] for op in ops}

    def root(name):
        while tie[name] != name:
            name = tie[name]
        return name

    memory = {op["name"]: op["bytes"] for op in ops}
    for edge in edges:
        if not memory[edge["from"]]:
            tie[root(edge["from"])] = root(edge["to"])
    unit = {op["name"]: op["unit"] for op in ops}
    numbers, found = {}, {}
    for op in ops:
        if unit[op["name"]] == "tma":
            found[op["name"]] = 0
            continue
        top = root(op["name"])
        if top not in numbers:
            numbers[top] = min(len(numbers) + 1, machine["warpgroups"] - 1)
        found[op["name"]] = numbers[top]
    return found


def holds(op, machine):
    return op["busy"] if machine["units"][op["unit"]] else 1


def clear(spans, at, size, interval):
    at %= interval
    return all((at - a) % interval >= s and (a - at) % interval >= size for a, s in spans)


def place(ops, edges, machine, groups, interval, rng, attempt):
    by = {op["name"]: op for op in ops}
    before = {name: [e for e in edges if e["to"] == name and e["from"] != name] for name in by}
    start, units, issues = {}, {}, {}
    left = list(by)
    while left:
        ready = [n for n in left if all(e["from"] in start or e["distance"] for e in before[n])]
        name = ready[0] if attempt == 0 else rng.choice(ready)
        left.remove(name)
        op = by[name]
        at = max(
            [0]
            + [
                start[e["from"]] + by[e["from"]]["latency"] - e["distance"] * interval
                for e in before[name]
                if e["from"] in start
            ]
        )
        if machine["units"][op["unit"]]:
            at += attempt % 2  # Leaves the cycle free in which the next product must be issued.
        unit, issue = units.setdefault(op["unit"], []), issues.setdefault(groups[name], [])
        for candidate in candidates(at, unit, issue, op, machine, interval):
            if clear(unit, candidate, op["busy"], interval) and clear(
                issue, candidate, holds(op, machine), interval
            ):
                start[name] = candidate
                unit.append((candidate % interval, op["busy"]))
                issue.append((candidate % interval, holds(op, machine)))
                break
        else:
            return None
    for e in edges:
        if start[e["to"]] + e["distance"] * interval < start[e["from"]] + by[e["from"]]["latency"]:
            return None
    return start


def candidates(at, unit, issue, op, machine, interval):
    """The earliest start, and the ends of what is in the way."""
    ends = [a + s for a, s in (*unit, *issue)]
    ends += [a - op["busy"] for a, _ in unit] + [a - holds(op, machine) for a, _ in issue]
    return sorted({at, *(at + (end - at) % interval for end in ends)})


def finish(ops, edges, machine, groups, interval, start):
    by = {op["name"]: op for op in ops}
    for op in ops:
        if op["unit"] == "tma":
            postpone(op, ops, edges, machine, groups, interval, start)
    buffers = {}
    for op in ops:
        ends = [
            start[e["to"]] + e["distance"] * interval + by[e["to"]]["busy"]
            for e in edges
            if e["from"] == op["name"]
        ]
        life = max([start[op["name"]] + op["latency"], *ends]) - start[op["name"]]
        buffers[op["name"]] = -(-life // interval) if op["bytes"] else 1
    if sum(op["bytes"] * buffers[op["name"]] for op in ops) > machine["shared_bytes"]:
        return None
    first = min(start.values())
    barriers = set()
    for e in edges:
        if groups[e["from"]] != groups[e["to"]]:
            barriers |= {(e["from"], e["to"]), (e["to"], e["from"])}
    return {
        "interval": interval,
        "ops": {n: {"start": start[n] - first, "warpgroup": groups[n], "buffers": buffers[n]} for n in by},
        "barriers": sorted(map(list, barriers)),
    }


def postpone(op, ops, edges, machine, groups, interval, start):
    readers = [start[e["to"]] + e["distance"] * interval for e in edges if e["from"] == op["name"]]
    latest = min(readers) - op["latency"]
    others = [o for o in ops if o is not op]
    unit = [(start[o["name"]] % interval, o["busy"]) for o in others if o["unit"] == op["unit"]]
    issue = [
        (start[o["name"]] % interval, holds(o, machine))
        for o in others
        if groups[o["name"]] == groups[op["name"]]
    ]
    options = [
        c
        for c in {
            latest,
            *(latest - (latest - a + op["busy"]) % interval for a, _ in unit),
            *(latest - (latest - a + 1) % interval for a, _ in issue),
        }
        if start[op["name"]] < c <= latest
    ]
    for at in sorted(options, reverse=True):
        if clear(unit, at, op["busy"], interval) and clear(issue, at, holds(op, machine), interval):
            start[op["name"]] = at
            return
