"""K14: the machine against a replay of every cycle, its bound against all schedules of tiny loops."""

import importlib
import importlib.util
import itertools
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import load
from grader.check import run
from grader.check.finding import State
from grader.sandbox import registry

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "assignments/kernels/auto-pipeline"
REFERENCE = CHECKOUT / "reference/kernels/auto-pipeline"
ASSIGNMENT = load(FOLDER)
TASK: Any = importlib.import_module(ASSIGNMENT.parts()["schedule"].episode.__module__)  # type: ignore[union-attr]
model: Any = TASK.model
graphs: Any = TASK.graphs
UNITS = {"tma": False, "tensor": False, "alu": True}
SEEDS = st.integers(0, 2**64)


def tiny(random: Random, count: int, iterations: int) -> Any:
    """A loop of a few short operations: a chain with a random extra edge and a random recurrence."""
    ops = []
    for number in range(count):
        busy = random.randrange(1, 3)
        kept = random.choice((0, 8)) if number < count - 1 else 0
        unit = random.choice(sorted(UNITS))
        ops.append(model.Op(f"op{number}", unit, busy, busy + random.randrange(2), kept))
    edges = [model.Edge(f"op{number}", f"op{number + 1}") for number in range(count - 1)]
    back = random.randrange(count)
    edges.append(model.Edge(f"op{random.randrange(back, count)}", f"op{back}", random.randrange(1, 3)))
    return model.Problem(tuple(ops), tuple(edges), model.Machine(UNITS, 1, 10**6, 0), iterations)


def plan_of(problem: Any, interval: int, starts: tuple[int, ...]) -> Any:
    """A plan with buffers without end, all in one warpgroup."""
    names = [op.name for op in problem.ops]
    return model.Plan(
        interval,
        dict(zip(names, starts, strict=True)),
        dict.fromkeys(names, 0),
        dict.fromkeys(names, 50),
        frozenset(),
    )


def collides(problem: Any, plan: Any, iterations: int) -> bool:
    """Whether a replay of every cycle finds two operations on one unit or in one warpgroup."""
    held: Counter[tuple[str, int]] = Counter()
    for iteration, op in itertools.product(range(iterations), problem.ops):
        at = plan.start[op.name] + iteration * plan.interval
        held.update((op.unit, at + cycle) for cycle in range(op.busy))
        issue = op.busy if UNITS[op.unit] else 1
        held.update((f"warpgroup {plan.warpgroup[op.name]}", at + cycle) for cycle in range(issue))
    return max(held.values()) > 1


def early(problem: Any, plan: Any, iterations: int) -> bool:
    """Whether a replay finds an operation that starts before what it needs is there."""
    return any(
        plan.start[edge.to] + iteration * plan.interval
        < plan.start[edge.source]
        + (iteration - edge.distance) * plan.interval
        + problem.op(edge.source).latency
        for iteration in range(iterations)
        for edge in problem.edges
        if iteration >= edge.distance
    )


@given(SEEDS, st.integers(1, 9), st.tuples(*[st.integers(0, 12)] * 3))
@settings(max_examples=300, deadline=None)
def test_a_plan_is_taken_exactly_when_a_replay_finds_no_fault(
    seed: int, interval: int, starts: tuple[int, ...]
) -> None:
    problem = tiny(Random(seed), 3, 20)
    plan = plan_of(problem, interval, starts)
    assert (model.fault(problem, plan) is None) is not (
        collides(problem, plan, 20) or early(problem, plan, 20)
    )
    first = min(plan.start.values())
    last = max(plan.start[op.name] + op.latency for op in problem.ops) + 19 * interval
    assert model.cycles(problem, plan) == last - first


@given(SEEDS, st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_no_schedule_of_a_tiny_loop_beats_the_bound(seed: int, iterations: int) -> None:
    problem = tiny(Random(seed), 3, iterations)
    bound, _ = model.bound(problem)
    best = min(
        (
            model.cycles(problem, plan)
            for interval in range(1, 8)
            for starts in itertools.product(range(8), repeat=3)
            if model.fault(problem, plan := plan_of(problem, interval, starts)) is None
        ),
        default=bound,
    )
    assert best >= bound


def test_the_best_schedules_of_tiny_loops_come_near_the_bound() -> None:
    """It would be no bound worth having if nothing did."""
    shares = []
    for seed in range(12):
        problem = tiny(Random(seed), 3, 4)
        plans = (
            plan_of(problem, interval, starts)
            for interval in range(1, 8)
            for starts in itertools.product(range(8), repeat=3)
        )
        costs = [model.cycles(problem, plan) for plan in plans if model.fault(problem, plan) is None]
        shares.append(model.bound(problem)[0] / min(costs))
    assert max(shares) == 1.0
    assert sum(shares) / len(shares) > 0.6, shares


@given(SEEDS, st.sampled_from(["attention", "pingpong", "dequant", "gemm"]), st.integers(20, 64))
@settings(max_examples=20, deadline=None)
def test_the_reference_comes_within_five_percent(seed: int, graph: str, iterations: int) -> None:
    problem = graphs.problem({"graph": graph, "iterations": iterations, "copies": 4}, Random(seed))
    plan = model.read(problem, reference().schedule(**problem.message()))
    assert isinstance(plan, model.Plan), plan
    assert model.fault(problem, plan) is None
    assert model.cycles(problem, plan) <= model.bound(problem)[0] / 0.95


def reference() -> Any:
    spec = importlib.util.spec_from_file_location("auto_pipeline_reference", REFERENCE / "solution.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda plan: [], "A dict with interval"),
        (lambda plan: plan | {"interval": True}, "interval is True"),
        (lambda plan: plan | {"interval": 1 << 30}, "interval is"),
        (lambda plan: plan | {"ops": {**plan["ops"], "ghost": {}}}, "There is no operation ghost"),
        (lambda plan: plan | {"ops": {"load_a": plan["ops"]["load_a"]}}, "is missing"),
        (lambda plan: plan | {"ops": {**plan["ops"], "load_a": {"start": 0}}}, "load_a needs start"),
        (lambda plan: plan | {"barriers": [["load_a"]]}, "A barrier is a pair"),
        (lambda plan: plan | {"barriers": [["load_a", "ghost"]]}, "A barrier is a pair"),
        (lambda plan: plan | {"barriers": plan["barriers"][:1] * 2}, "listed twice"),
        (lambda plan: plan | {"barriers": [*plan["barriers"], ["load_a", "load_b"]]}, "deadlock"),
        (lambda plan: plan | {"barriers": plan["barriers"][1:]}, "is missing"),
    ],
)
def test_malformed_answers_are_told_what_is_wrong(change: Any, wanted: str) -> None:
    problem = graphs.problem({"graph": "gemm", "iterations": 8, "copies": 4}, Random(1))
    plan = change(reference().schedule(**problem.message()))
    read = model.read(problem, plan)
    said = model.fault(problem, read) if isinstance(read, model.Plan) else read
    assert said is not None
    assert wanted in said[0]
    assert said[1] != said[0]


def test_it_holds_and_its_solutions_get_their_verdicts() -> None:
    labels = ("solution.py",)
    options = run.Options(registry.choose("bubblewrap"), only=lambda solution: solution.label in labels)
    findings = list(run.check(FOLDER, options))
    assert [one for one in findings if one.state is State.FAILS] == []
    assert {one.subject for one in findings if one.seconds is not None} >= set(labels)
