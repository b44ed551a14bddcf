"""Exact least cycles of a loop by constraint programming: over all schedules, and over modulo schedules."""

from itertools import combinations
from typing import Any

from ortools.sat.python import cp_model


def of_any_schedule(problem: Any) -> int:
    """Least cycles with every iteration planned by itself; memory, registers and barriers left out.

    Nothing that the machine can do is shorter, so a bound above it would be wrong.
    """
    model, end = _any(problem)
    model.minimize(end)
    solver = _solver()
    status = solver.solve(model)
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    return round(float(solver.objective_value))


def can_be_shorter(problem: Any, cycles: int) -> bool:
    """Whether any such schedule takes fewer cycles: easier to settle than the least number of them."""
    model, end = _any(problem)
    model.add(end < cycles)
    solver = _solver()
    status = solver.solve(model)
    assert status in (cp_model.FEASIBLE, cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
    return bool(status != cp_model.INFEASIBLE)


def _any(problem: Any) -> tuple[Any, Any]:
    """The model, and its last cycle."""
    model = cp_model.CpModel()
    horizon = problem.iterations * sum(op.latency for op in problem.ops)
    end = model.new_int_var(0, horizon, "end")
    start: dict[tuple[str, int], Any] = {}
    on_unit: dict[str, list[Any]] = {}
    issued = []
    for iteration in range(problem.iterations):
        for op in problem.ops:
            at = model.new_int_var(0, horizon, f"{op.name}.{iteration}")
            start[op.name, iteration] = at
            model.add(end >= at + op.latency)
            on_unit.setdefault(op.unit, []).append(model.new_fixed_size_interval_var(at, op.busy, ""))
            issued.append(model.new_fixed_size_interval_var(at, problem.machine.hold(op), ""))
        if iteration:  # Equal operations are equal: their order is no choice.
            for op in problem.ops:
                model.add(start[op.name, iteration - 1] <= start[op.name, iteration])
    for iteration in range(problem.iterations):
        for edge in problem.edges:
            if iteration >= edge.distance:
                ready = start[edge.source, iteration - edge.distance] + problem.op(edge.source).latency
                model.add(start[edge.to, iteration] >= ready)
    for spans in on_unit.values():
        model.add_no_overlap(spans)
    model.add_cumulative(issued, [1] * len(issued), problem.machine.warpgroups)
    return model, end


def of_modulo_schedules(problem: Any, least_interval: int, critical: int) -> tuple[int, dict[str, Any]]:
    """Least cycles of a modulo schedule under all rules, and its plan as a student would return it."""
    best: tuple[int, dict[str, Any]] | None = None
    interval = least_interval
    while best is None or (problem.iterations - 1) * interval + critical < best[0]:
        found = _modulo(problem, interval)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
        interval += 1
    return best


def _modulo(problem: Any, interval: int) -> tuple[int, dict[str, Any]] | None:
    model = cp_model.CpModel()
    horizon = sum(op.latency for op in problem.ops) + len(problem.ops) * interval
    end = model.new_int_var(0, horizon, "end")
    start: dict[str, Any] = {}
    phase: dict[str, Any] = {}
    group: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for op in problem.ops:
        if max(op.busy, problem.machine.hold(op)) > interval:
            return None
        at = start[op.name] = model.new_int_var(0, horizon, f"start {op.name}")
        phase[op.name] = model.new_int_var(0, interval - 1, f"phase {op.name}")
        turns = model.new_int_var(0, horizon // interval + 1, f"turns {op.name}")
        model.add(at == turns * interval + phase[op.name])
        group[op.name] = model.new_int_var(0, problem.machine.warpgroups - 1, f"group {op.name}")
        buffers[op.name] = model.new_int_var(1, horizon // interval + 2, f"buffers {op.name}")
        model.add(end >= at + op.latency)
        if op.bytes:
            model.add(buffers[op.name] * interval >= op.latency)
        else:
            model.add(buffers[op.name] == 1)
    same = {}
    for one, other in combinations([op.name for op in problem.ops], 2):
        together = model.new_bool_var(f"{one} {other}")
        same[one, other] = same[other, one] = together
        model.add(group[one] == group[other]).only_enforce_if(together)
        model.add(group[one] != group[other]).only_enforce_if(~together)
        _apart(model, problem, phase, interval, (one, other), together)
    across = {}
    for edge in problem.edges:
        source, to = problem.op(edge.source), problem.op(edge.to)
        model.add(start[to.name] + edge.distance * interval >= start[source.name] + source.latency)
        if source.bytes:
            read = start[to.name] + edge.distance * interval + to.busy
            model.add(buffers[source.name] * interval >= read - start[source.name])
        elif source is not to:
            model.add(same[source.name, to.name] == 1)
        if source is not to:
            across[frozenset((source.name, to.name))] = 1 - same[source.name, to.name]
    model.add(2 * sum(across.values()) <= problem.machine.barriers)
    model.add(sum(op.bytes * buffers[op.name] for op in problem.ops) <= problem.machine.shared_bytes)
    model.minimize(end)
    solver = _solver()
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    ops = [
        {
            "name": op.name,
            "start": solver.value(start[op.name]),
            "warpgroup": solver.value(group[op.name]),
            "buffers": solver.value(buffers[op.name]),
        }
        for op in problem.ops
    ]
    places = {op["name"]: op["warpgroup"] for op in ops}
    pairs = {(e.source, e.to) for e in problem.edges if places[e.source] != places[e.to]}
    barriers = sorted({*pairs, *((other, one) for one, other in pairs)})
    plan = {"interval": interval, "ops": ops, "barriers": [list(pair) for pair in barriers]}
    return round(solver.objective_value) + (problem.iterations - 1) * interval, plan


def _apart(
    model: Any, problem: Any, phase: dict[str, Any], interval: int, names: tuple[str, str], together: Any
) -> None:
    """Neither a unit nor a warpgroup does two things at once, modulo the interval."""
    first, second = (problem.op(name) for name in names)
    rules = [(first.busy, second.busy, None)] if first.unit == second.unit else []
    rules.append((problem.machine.hold(first), problem.machine.hold(second), together))
    for mine, theirs, condition in rules:
        before = model.new_bool_var("")
        orders = (
            (first.name, second.name, mine, theirs, before),
            (second.name, first.name, theirs, mine, ~before),
        )
        for one, other, its, others, chosen in orders:
            given = [chosen] if condition is None else [chosen, condition]
            model.add(phase[other] - phase[one] >= its).only_enforce_if(given)
            model.add(phase[one] + interval - phase[other] >= others).only_enforce_if(given)


def _solver() -> Any:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.random_seed = 1
    solver.parameters.max_time_in_seconds = 60.0
    return solver
