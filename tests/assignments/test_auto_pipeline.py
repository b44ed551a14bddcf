"""K14: the replay against a count of every cycle, the bound and the reference against exact optima."""

import importlib
import importlib.util
import itertools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import load

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "assignments/kernels/auto-pipeline"
REFERENCE = CHECKOUT / "reference/kernels/auto-pipeline"
ASSIGNMENT = load(FOLDER)
TASK: Any = importlib.import_module(ASSIGNMENT.parts()["schedule"].episode.__module__)  # type: ignore[union-attr]
MODEL: Any = importlib.import_module(f"{TASK.__package__}.model")
graphs, brute, plans = TASK.graphs, TASK.brute, TASK.plan
UNITS = {"tma": False, "tensor": False, "alu": True}
SEEDS = st.integers(0, 2**64)
HIDDEN = [case.id for case in ASSIGNMENT.hidden]


def module(path: Path) -> Any:
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


PIPELINE = module(REFERENCE / "shared/pipeline.py")
LOOPS, OPTIMUM = (module(Path(__file__).with_name(f"{name}.py")) for name in ("loops", "optimum"))


def replayed(problem: Any, reply: Any) -> Any:
    """Cycles of an answer, or the sentences about what is wrong with it."""
    read = plans.read(problem, reply)
    return TASK.replay.replay(problem, read) if isinstance(read, plans.Plan) else read


# --- the replay ---------------------------------------------------------------------------------------------


def collides(problem: Any, plan: Any) -> bool:
    """Whether a count of every cycle finds two operations on one unit or in one warpgroup."""
    held: Counter[tuple[str, int]] = Counter()
    for iteration, op in itertools.product(range(problem.iterations), problem.ops):
        at = plan.start[op.name] + iteration * plan.interval
        held.update((op.unit, at + cycle) for cycle in range(op.busy))
        issue = op.busy if UNITS[op.unit] else 1
        held.update((f"warpgroup {plan.warpgroup[op.name]}", at + cycle) for cycle in range(issue))
    return max(held.values()) > 1


def early(problem: Any, plan: Any) -> bool:
    """Whether some operation starts before what it needs is there."""
    return any(
        plan.start[edge.to] + iteration * plan.interval
        < plan.start[edge.source]
        + (iteration - edge.distance) * plan.interval
        + problem.op(edge.source).latency
        for iteration in range(problem.iterations)
        for edge in problem.edges
        if iteration >= edge.distance
    )


def overwritten(problem: Any, plan: Any) -> bool:
    """Whether a buffer is written in a cycle in which what was in it is still written or read."""
    for op in problem.ops:
        users: list[tuple[int, int, int]] = []
        for iteration in range(problem.iterations if op.bytes else 0):
            begin = plan.start[op.name] + iteration * plan.interval
            ends = [begin + op.latency]
            for edge in problem.edges:
                if edge.source == op.name and iteration + edge.distance < problem.iterations:
                    read = plan.start[edge.to] + (iteration + edge.distance) * plan.interval
                    ends.append(read + problem.op(edge.to).busy)
            users.append((iteration % plan.buffers[op.name], begin, max(ends)))
        for (slot, begin, end), (other, start, stop) in itertools.combinations(users, 2):
            if slot == other and begin < stop and start < end:
                return True
    return False


@given(SEEDS, st.integers(1, 12), st.tuples(*[st.integers(-1, 6)] * 3), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_a_plan_is_taken_exactly_when_a_count_of_every_cycle_finds_no_fault(
    seed: int, interval: int, gaps: tuple[int, ...], buffers: int
) -> None:
    """Each operation starts a gap after the one before it is ready: faults come alone, or not at all."""
    problem = brute.tiny(Random(seed), 3, 12)
    starts: list[int] = []
    ready = 0
    for op, gap in zip(problem.ops, gaps, strict=True):
        starts.append(max(0, ready + gap))
        ready = starts[-1] + op.latency
    names = [op.name for op in problem.ops]
    zero, many = dict.fromkeys(names, 0), dict.fromkeys(names, buffers)
    plan = plans.Plan(interval, dict(zip(names, starts, strict=True)), zero, many, frozenset())
    found = TASK.replay.replay(problem, plan)
    wrong = collides(problem, plan) or early(problem, plan) or overwritten(problem, plan)
    assert isinstance(found, int) is not wrong
    if not wrong:
        last = max(plan.start[op.name] + op.latency for op in problem.ops) + 11 * interval
        assert found == last - min(starts)


@pytest.mark.parametrize(("buffers", "interval"), [(1, 20), (2, 10), (3, 7), (4, 5)])
def test_a_buffer_is_taken_until_its_last_reader_has_read(buffers: int, interval: int) -> None:
    """Written from 0 on, read until 20: so many intervals must have passed when it is written again."""
    ops, edges = ["load tma 2 +1 1 KiB", "far tensor 3"], ["load -> far"]
    params = {"ops": ops, "edges": edges, "warpgroups": 1, "copies": 4, "iterations": 9}
    problem = graphs.problem(params, Random(1))
    starts = {"load": 0, "far": 17}

    def of(count: int, every: int) -> Any:
        zero, many = dict.fromkeys(starts, 0), dict.fromkeys(starts, 1) | {"load": count}
        return TASK.replay.replay(problem, plans.Plan(every, starts, zero, many, frozenset()))

    assert of(buffers, interval) == 20 + 8 * interval
    if buffers > 1:
        short = of(buffers - 1, interval)
        assert f"overwrites what far still uses until 20: {buffers - 1} buffers are too few" in short[0]
    assert "overwrites what far still uses" in of(1, 19)[0]


def gemm() -> Any:
    return graphs.problem({"graph": "gemm", "iterations": 8, "copies": 4}, Random(1))


def changed(plan: Any, name: str, **values: Any) -> Any:
    """The plan with one entry changed."""
    return plan | {"ops": [op | values if op["name"] == name else op for op in plan["ops"]]}


def at(plan: Any, name: str) -> Any:
    return next(op for op in plan["ops"] if op["name"] == name)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda _plan: [], "A dict with interval"),
        (lambda plan: plan | {"more": 1}, "and nothing else"),
        (lambda plan: plan | {"ops": {}}, "are lists"),
        (lambda plan: plan | {"interval": True}, "interval is True"),
        (lambda plan: plan | {"interval": 1 << 30}, f"interval is {1 << 30}"),
        (lambda plan: plan | {"ops": [*plan["ops"], 3]}, "not 3"),
        (lambda plan: plan | {"ops": [*plan["ops"], {"name": "ghost"}]}, "no operation ghost"),
        (lambda plan: plan | {"ops": plan["ops"][:-1]}, "Operation product is missing"),
        (lambda plan: plan | {"ops": [*plan["ops"], plan["ops"][0]]}, "load_a is planned twice"),
        (lambda plan: changed(plan, "load_a", unit="tpu"), "load_a: unit is unknown"),
        (lambda plan: changed(plan, "load_a", start=-5), "load_a: start is -5"),
        (lambda plan: changed(plan, "load_a", start=0.5), "load_a: start is 0.5"),
        (lambda plan: changed(plan, "load_a", buffers=0), "load_a: buffers is 0"),
        (lambda plan: changed(plan, "load_a", warpgroup=9), "there is no warpgroup 9"),
        (lambda plan: changed(plan, "load_a", buffers=9000), "The plan is too large: its buffers take"),
        (lambda plan: changed(plan, "load_a", buffers=1), "1 buffers are too few"),
        (lambda plan: changed(plan, "load_b", start=at(plan, "load_a")["start"]), "holds unit tma until"),
        (lambda plan: changed(plan, "product", start=0), "which is ready at"),
        (lambda plan: plan | {"barriers": [["load_a"]]}, "A barrier is a pair"),
        (lambda plan: plan | {"barriers": [["load_a", "ghost"]]}, "no operation ghost"),
        (lambda plan: plan | {"barriers": plan["barriers"][:1] * 2}, "listed twice"),
        (lambda plan: plan | {"barriers": plan["barriers"][1:]}, "is missing"),
        (lambda plan: plan | {"barriers": [*plan["barriers"], ["load_a", "load_a"]]}, "Deadlock: load_a (0)"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(change: Callable[[Any], Any], wanted: str) -> None:
    problem = gemm()
    reply = change(PIPELINE.schedule(**problem.message()))
    found = replayed(problem, reply)
    assert not isinstance(found, int)
    assert wanted in found[0]
    assert found[1] != found[0]
    assert all(len(sentence) < 400 for sentence in found)


def test_too_many_barriers_are_a_plan_too_large() -> None:
    problem = graphs.problem({"graph": "pingpong", "iterations": 3, "copies": 4}, Random(1))
    names = [op.name for op in problem.ops]
    pairs = [list(pair) for pair in itertools.product(names, repeat=2)]
    found = replayed(problem, PIPELINE.schedule(**problem.message()) | {"barriers": pairs})
    assert f"too large: {len(pairs)} barriers; the machine has 32" in found[0]


def waiting(pairs: list[tuple[str, str]], starts: tuple[int, int, int]) -> Any:
    """Three operations of two warpgroups that need nothing, and the barriers between them."""
    ops = ["a tensor 1", "b tma 1 4 KiB", "c alu 1"]
    params = {"ops": ops, "edges": [], "warpgroups": 2, "copies": 9, "iterations": 3}
    entries = [
        {"name": name, "start": start, "warpgroup": group, "buffers": 1}
        for name, start, group in zip("abc", starts, (0, 1, 0), strict=True)
    ]
    reply = {"interval": 10, "ops": entries, "barriers": [list(pair) for pair in pairs]}
    return replayed(graphs.problem(params, Random(1)), reply)


def test_who_waits_for_somebody_who_waits_for_him_is_a_deadlock() -> None:
    assert waiting([], (0, 2, 5)) == 26
    assert waiting([("a", "b")], (0, 2, 5)) == 26
    assert "a of iteration 0 is to start at 0, but waits until 3 for b" in waiting([("b", "a")], (0, 2, 5))[0]
    both = waiting([("b", "a"), ("a", "b")], (0, 2, 5))[0]
    assert both.startswith("Deadlock: a (0) <- b (0) <- a (0)")
    # c comes after a in their warpgroup, so b waits for c, c for a, and a for b.
    chain = waiting([("b", "a"), ("c", "b")], (0, 2, 5))[0]
    assert chain.startswith("Deadlock: a (0) <- b (0) <- c (0) <- a (0)")


FAULTS = {
    "cheat_all_iterations_at_once": "interval is 0; it is an integer from 1",
    "cheat_more_buffers_than_memory": "The plan is too large: its buffers take",
    "cheat_starts_before_zero": "load_a: start is -",
    "cheat_zero_latency": "of iteration",
    "forgets_the_last_operation": "Operation product is missing",
    "forgets_the_recurrence": "but needs values of iteration",
    "interval_is_a_fraction": "interval is",
    "no_empty_barriers": "a barrier (product, load_a) is missing",
    "one_buffer_for_all": "1 buffers are too few",
    "one_warpgroup_for_each_unit": "from registers, so both are of one warpgroup",
    "one_warpgroup_issues_two_at_once": "holds warpgroup",
    "plans_a_load_twice": "load_a is planned twice",
    "takes_busy_for_latency": "which is ready at",
    "units_are_never_busy": "holds unit",
    "waits_for_itself": "Deadlock: load_a (0) <- load_a (0)",
}


@pytest.mark.parametrize("path", sorted((REFERENCE / "wrong").iterdir()), ids=lambda path: path.stem)
def test_every_wrong_solution_is_told_its_own_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pipeline", module(REFERENCE / "shared/pipeline.py"))
    schedule = module(path).schedule
    said: list[str] = []
    hidden = [case.params for case in ASSIGNMENT.cases("cpu", bytes(16)) if case.visibility == "hidden"]
    for params in [*({"graph": name, "iterations": 40, "copies": 4} for name in graphs.GRAPHS), *hidden]:
        problem = graphs.problem(params, Random(3))
        try:
            found = replayed(problem, schedule(**problem.message()))
        except (TypeError, ValueError) as error:
            found = (str(error), "")
        said += [] if isinstance(found, int) else [found[0]]
        if said and FAULTS[path.stem] in said[-1]:
            return
    pytest.fail(f"said: {said}")


# --- what authors write -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ops", "edges", "wanted"),
    [
        (["a tensor 3", "a tensor 3"], [], "operation a occurs 2 times"),
        (["a tensr 3"], [], "unknown unit 'tensr'; the machine has tma, tensor, alu"),
        (["a tensor -3"], [], "-3..-3 is no span"),
        (["a tensor 9..3"], [], "9..3 is no span"),
        (["a tensor 0"], [], "busy 0"),
        (["a tensor"], [], "'a tensor' is no operation"),
        (["a tensor 3"], ["a -> b"], "there is no operation b"),
        (["a tensor 3"], ["a to a"], "'a to a' is no edge"),
        (["a tensor 3"], ["a -> a @ -1"], "distance -1"),
        (["a tensor 3", "b alu 1"], ["a -> b", "b -> a"], "a -> b -> a: an operation needs itself"),
        ([], [], "0 operations"),
    ],
)
def test_a_loop_that_no_machine_runs_is_refused_with_its_fault(
    ops: list[str], edges: list[str], wanted: str
) -> None:
    params = {"ops": ops, "edges": edges, "warpgroups": 1, "copies": 1, "iterations": 2}
    with pytest.raises(MODEL.LoopError, match=wanted.replace("(", r"\(")):
        graphs.problem(params, Random(1))


def test_an_unknown_graph_is_refused() -> None:
    with pytest.raises(MODEL.LoopError, match="no graph 'gem'; known: gemm"):
        graphs.problem({"graph": "gem", "iterations": 2, "copies": 1}, Random(1))


# --- the bound and the reference ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [3, 6, 9, 12])
def test_bound_optimum_and_reference_come_in_this_order(count: int, seed: int) -> None:
    """The optimum is exact, by CP-SAT; schedules that are not modulo do not beat the bound either."""
    problem = LOOPS.made(graphs, Random(seed), count, 4 if count < 12 else 2)
    loop = PIPELINE.Loop(**problem.message())
    bound, _ = TASK.bound.bound(problem)
    assert not OPTIMUM.can_be_shorter(problem, bound)
    best, plan = OPTIMUM.of_modulo_schedules(problem, PIPELINE.least_interval(loop), loop.critical)
    assert bound <= best
    assert replayed(problem, plan) == best
    reference = replayed(problem, PIPELINE.schedule(**problem.message()))
    assert isinstance(reference, int), reference
    assert best <= reference


def test_the_bound_is_reached_by_the_optimum_of_many_loops_and_far_from_none() -> None:
    """It would be no bound worth having if nothing came near."""
    shares = []
    for seed in range(8):
        problem = LOOPS.made(graphs, Random(seed), 4, 4)
        shares.append(TASK.bound.bound(problem)[0] / OPTIMUM.of_any_schedule(problem))
    assert max(shares) == 1.0
    assert sum(shares) / len(shares) > 0.9, shares


def test_the_optimum_agrees_with_every_plan_of_tiny_loops() -> None:
    """The constraint program itself, against brute force."""
    for seed in range(4):
        problem = brute.tiny(Random(seed), 3, 3)
        loop = PIPELINE.Loop(**problem.message())
        best, _ = OPTIMUM.of_modulo_schedules(problem, PIPELINE.least_interval(loop), loop.critical)
        found = [TASK.replay.replay(problem, plan) for plan in brute.plans(problem)]
        # A plan of few iterations need not be right for ever, as a modulo schedule is.
        assert min(cycles for cycles in found if isinstance(cycles, int)) <= best


@given(SEEDS, st.sampled_from([*graphs.GRAPHS, *HIDDEN]))
@settings(max_examples=40, deadline=None)
def test_the_reference_comes_within_five_percent_on_every_graph(seed: int, name: str) -> None:
    """The hidden graphs too, with any timings and as many iterations as they may have."""
    drawn = {case.id: case.params for case in ASSIGNMENT.cases("cpu", Random(seed).randbytes(16))}
    params = drawn.get(name, {"graph": name, "iterations": 64, "copies": 4})
    problem = graphs.problem(params, Random(seed))
    cycles = replayed(problem, PIPELINE.schedule(**problem.message()))
    assert isinstance(cycles, int), cycles
    assert cycles <= TASK.bound.bound(problem)[0] / 0.95


def test_hidden_graphs_are_not_those_that_students_see() -> None:
    seen = {tuple(ops) for ops, _, _ in graphs.GRAPHS.values()}
    hidden = {tuple(case.params["ops"]) for case in ASSIGNMENT.hidden}
    assert len(hidden) == 4
    assert not hidden & seen
