"""The oracle's rehearsal: its code is loaded and its memory taken before any code of the submission runs."""

from collections.abc import Hashable, Iterator, Sequence

from grader.contract import Mode, Phase
from grader.judge import authored, correctness
from grader.judge.authored import Watch
from grader.judge.collective import authored as collectives
from grader.judge.collective import case as collective
from grader.judge.phases import timed
from grader.judge.phases.context import Context
from grader.judge.prepare import case_seed
from grader.task import Case, CollectiveTask, FunctionTask


def run(context: Context) -> None:
    """Fill, compute and compare a case of each dtype and layout of every function, and the largest timed one.

    Timed cases of a device are not among them: their oracle runs there, and the timed phase rehearses it.
    Raises AssignmentFault: an oracle that fails here fails for everybody.
    """
    plan = context.plan
    tests = [case for case in (*plan.public, *plan.hidden) if case.id not in plan.skipped]
    here = context.mode is Mode.GRADE and timed.is_timed(context) and context.sandboxes.device is None
    calls = plan.calls() if here else ()
    own = (*plan.priced(), *(plan.together() if here else ()))
    with context.progress.step(Phase.PREPARE, "rehearse the oracle"):
        for part, task in plan.tasks.items():
            mine = [case for case in tests if case.part == part]
            if isinstance(task, CollectiveTask):
                largest = _largest(context, [case for case in own if case.part == part])
                _rehearse_collective(context, task, [*mine, *largest])
            if not isinstance(task, FunctionTask):
                continue
            own_calls = [case for case in calls if case.part == part]
            for case, compared in chosen(task, mine, own_calls, context.watch):
                context.arena_bytes([case])  # Refused before anything of that size is taken.
                seed = case_seed(context.seed, case)
                correctness.rehearse(task, case, seed, watch=context.watch, compared=compared)


def _rehearse_collective(context: Context, task: CollectiveTask, cases: Sequence[Case]) -> None:
    """The first case of each dtype of its parameters, and the largest timed one."""
    seen: set[Hashable] = set()
    for case in cases:
        first = collectives.tensors(task, case, context.watch)[0]
        kind = (case.role, tuple(tensor.dtype for tensor in first))
        if kind not in seen:
            seen.add(kind)
            context.arena_bytes([case])
            seed = case_seed(context.seed, case)
            collective.rehearse(task, case, seed, watch=context.watch)


def _largest(context: Context, cases: Sequence[Case]) -> Sequence[Case]:
    return [max(cases, key=lambda case: context.arena_bytes([case]))] if cases else []


def chosen(
    task: FunctionTask, tests: Sequence[Case], calls: Sequence[Case], watch: Watch
) -> Iterator[tuple[Case, bool]]:
    """The first case of each dtype and layout, tests before timed ones; then the largest timed one.

    With each, whether it is compared too: of the largest that would take as long as all else together, and
    one of its kind was compared already. Raises AssignmentFault.
    """
    seen: set[Hashable] = set()
    done: list[Case] = []
    for case in (*tests, *calls):
        kind = _kind(task, case, watch)
        if kind not in seen:
            seen.add(kind)
            done.append(case)
            yield case, True
    largest = max(calls, key=lambda case: correctness.arena_bytes(task, case, watch), default=None)
    if largest is not None and largest not in done:
        yield largest, False


def _kind(task: FunctionTask, case: Case, watch: Watch) -> Hashable:
    """What may take another path through oracle and comparison: dtypes, dimensions, strides, aliases."""
    return tuple(
        (t.name, t.dtype, len(t.shape), 0 in t.shape, t.strides is not None, t.alias_of)
        for t in authored.tensors(task, case, watch)
    )
