"""One case of a collective: fill, call, audit every rank; and the price where messages are carried."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from grader import scoring
from grader.contract import Evidence, Measure, TestResult, Text, TimedResult, Verdict
from grader.judge.arena import snapshot
from grader.judge.authored import Watch, compare
from grader.judge.collective import authored, carried, together
from grader.judge.collective.group import Group
from grader.judge.collective.run import Run, Wrong, audit, close, oracle, prepare
from grader.judge.collective.switchboard import named_wrong
from grader.judge.collective.team import Team
from grader.judge.correctness import CaseRun, first_wrong
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.messages import text
from grader.network import Step
from grader.plaintext import clean
from grader.task import Case, CollectiveTask, outputs


@dataclass(frozen=True)
class Priced:
    """What a priced case gave; `alive`: the team can take another one."""

    result: TimedResult
    evidence: tuple[Evidence, ...]
    alive: bool


def arena_bytes(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Bytes that a case needs in each rank's arena. Raises AssignmentFault."""
    slots = authored.calls(task, case, watch) * authored.slot_size(task, case, watch)
    return slots + (2 * carried.region_bytes(task, case, watch) if task.priced else 0)


def rehearse(task: CollectiveTask, case: Case, seed: int, *, watch: Watch) -> None:
    """Fill, oracle, comparison, network and bound of a case without any rank. Raises AssignmentFault."""
    run = prepare(task, case, seed, watch)
    try:
        for number, inputs in enumerate(run.inputs):
            expected = oracle(run, inputs)
            for rank in range(run.ranks):
                mine = run.images[rank].tensors(run.slots[rank][number])
                tensors = [placement.tensor for placement in run.slots[rank][0].plan.placements]
                found = snapshot({tensor.name: mine[tensor.name] for tensor in outputs(tensors)})
                compare(tensors, found, expected[rank], case)
        if case.role == "timed" and task.priced:
            authored.network(task, case, watch)
            authored.bound(task, case, run.inputs[0], watch)
    finally:
        close(run)


def test(
    team: Team | Group,
    task: CollectiveTask,
    case: Case,
    seed: int,
    *,
    entry: str,
    call_seconds: float,
    watch: Watch,
) -> CaseRun:
    """Run one correctness case on a team whose code is loaded.

    All that the candidate does ends in the result. Raises AssignmentFault and SandboxError.
    """
    begin = time.monotonic()
    run = prepare(task, case, seed, watch)
    try:
        verdict, message, _, detail = _attempt(team, run, entry, call_seconds)
    finally:
        close(run)
    out, err = team.output()
    tensors = authored.tensors(task, case, watch)[0]
    result = TestResult(
        case=case.id,
        part=case.part,
        verdict=verdict,
        message=message,
        params=dict(case.params),
        shapes={tensor.name: tensor.describe() for tensor in tensors},
        first_wrong=first_wrong(run.compared),
        errors=tuple(comparison.stats() for comparison in run.compared[:64]),
        stdout=out,
        stderr=clean("\n".join(part for part in (err, detail) if part), 16384),
        seconds=time.monotonic() - begin,
    )
    return CaseRun(result, team.alive)


def price(
    team: Team, task: CollectiveTask, case: Case, seed: int, *, entry: str, call_seconds: float, watch: Watch
) -> Priced:
    """Run one priced case: the time of its messages on the network against the bound.

    Raises AssignmentFault and SandboxError.
    """
    run = prepare(task, case, seed, watch)
    try:
        network = authored.network(task, case, watch)
        bound, by = authored.bound(task, case, run.inputs[0], watch)
        verdict, message, steps, _ = _attempt(team, run, entry, call_seconds)
    finally:
        close(run)
    result = TimedResult(
        case=case.id, part=case.part, verdict=verdict, message=message, params=dict(case.params), calls=1
    )
    if verdict is not Verdict.ACCEPTED:
        return Priced(result, (), team.alive)
    found = network.price(steps)
    value = found.total_ps / 1000
    measure = Measure(
        quantity="simulated time",
        unit="ns",
        better="lower",
        value=value,
        low=value,
        high=value,
        bound=bound,
        bound_by=by or None,
    )
    result = result.model_copy(update={"measure": measure, "calls": sum(found.messages)})
    if value < bound * (1 - 1e-9):
        too_fast = text("beyond_bound")
        evidence = Evidence(
            kind="bound",
            case=case.id,
            measured=value,
            limit=bound,
            unit="ns",
            text=f"{sum(found.messages)} messages of {sum(found.sent)} bytes; bound by {by}",
        )
        result = result.model_copy(update={"verdict": Verdict.FASTER_THAN_LIGHT, "message": too_fast})
        return Priced(result, (evidence,), team.alive)
    return Priced(result.model_copy(update=_fractions(measure)), (), team.alive)


def _fractions(measure: Measure) -> dict[str, float]:
    assert measure.bound is not None
    try:
        fraction = (
            1.0
            if measure.value == measure.bound
            else scoring.case_fraction(measure.value, measure.value, measure.value, measure.bound).value
        )
    except scoring.ScoringError as error:
        raise AssignmentFault("bound", str(error)) from error
    return {"fraction": fraction, "fraction_low": fraction, "fraction_high": fraction}


def _attempt(
    team: Team | Group, run: Run, entry: str, call_seconds: float
) -> tuple[Verdict, Text | None, Sequence[Sequence[Step]], str]:
    """Verdict, what to say, what each rank sent and received, and the candidate's own words."""
    steps: Sequence[Sequence[Step]] = ()
    try:
        if isinstance(team, Group):
            together.call(team, run, entry, call_seconds)
        else:
            steps = carried.call(team, run, entry, call_seconds)
        with run.watch(f"audit of {run.case.id}", 60.0):
            audit(team.ranks, run)
    except CandidateFailure as failure:
        return failure.verdict, failure.text, (), failure.detail
    except Wrong as wrong:
        return Verdict.WRONG_ANSWER, named_wrong(wrong.rank, run.ranks, wrong.why), (), ""
    return Verdict.ACCEPTED, None, steps, ""
