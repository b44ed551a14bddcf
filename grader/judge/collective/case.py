"""One case of a collective whose messages the judge carries: fill, call, audit every rank, and the price."""

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from grader import scoring
from grader.contract import Evidence, FirstWrong, Measure, TestResult, Text, TimedResult, Verdict
from grader.judge.arena import Arena, same_bits, snapshot
from grader.judge.audit import Comparison
from grader.judge.authored import Watch, compare, guard
from grader.judge.collective import authored
from grader.judge.collective.carrier import Carrier
from grader.judge.collective.rank import Rank
from grader.judge.collective.switchboard import Switchboard
from grader.judge.collective.team import Team
from grader.judge.correctness import CaseRun, first_wrong, reason
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.layout import ALIGN, SlotLayout, plan
from grader.messages import text
from grader.network import Step
from grader.plaintext import clean
from grader.task import Case, CollectiveTask, Slot, outputs

LEAST_REGION = 64 << 10
"""Bytes that one message may have, however small the tensors are."""


@dataclass(frozen=True)
class Priced:
    """What a priced case gave; `alive`: the team can take another one."""

    result: TimedResult
    evidence: tuple[Evidence, ...]
    alive: bool


class _Wrong(Exception):  # noqa: N818
    """A rank's answer is wrong."""

    def __init__(self, rank: int, why: Text) -> None:
        super().__init__(why.en)
        self.rank = rank
        self.why = why


@dataclass
class _Run:
    """One case on its way. `inputs` and `compared` are by slot and rank."""

    task: CollectiveTask
    case: Case
    watch: Watch
    slots: list[tuple[SlotLayout, ...]]
    images: list[Arena]
    inputs: list[list[Slot]]
    compared: list[Comparison]

    @property
    def ranks(self) -> int:
        return len(self.slots)


def arena_bytes(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Bytes that a case needs in each rank's arena. Raises AssignmentFault."""
    return _slots_bytes(task, case, watch) + 2 * region_bytes(task, case, watch)


def region_bytes(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Most bytes of one message: twice all tensors of a call, and never few."""
    size = max(LEAST_REGION, 2 * authored.slot_size(task, case, watch))
    return -(-size // ALIGN) * ALIGN


def signature(entry: str, task: CollectiveTask, case: Case, watch: Watch) -> str:
    """How the function is called, for a message: `all_reduce(comm, x, out, *, maximum=False)`."""
    names = ["comm", *(tensor.name for tensor in authored.tensors(task, case, watch)[0])]
    scalars = [f"{name}={value!r}" for name, value in authored.scalars(task, case, 0, watch).items()]
    return f"{entry}({', '.join([*names, *(['*'] if scalars else []), *scalars])})"


def rehearse(task: CollectiveTask, case: Case, seed: int, *, watch: Watch) -> None:
    """Fill, oracle, comparison, network and bound of a case without any rank. Raises AssignmentFault."""
    run = _prepare(task, case, seed, watch)
    try:
        for number, inputs in enumerate(run.inputs):
            expected = _oracle(run, inputs)
            for rank in range(run.ranks):
                mine = run.images[rank].tensors(run.slots[rank][number])
                tensors = [placement.tensor for placement in run.slots[rank][0].plan.placements]
                found = snapshot({tensor.name: mine[tensor.name] for tensor in outputs(tensors)})
                compare(tensors, found, expected[rank], case)
        if case.role == "timed":
            authored.network(task, case, watch)
            authored.bound(task, case, run.inputs[0], watch)
    finally:
        _close(run)


def test(
    team: Team, task: CollectiveTask, case: Case, seed: int, *, entry: str, call_seconds: float, watch: Watch
) -> CaseRun:
    """Run one correctness case on a team whose code is loaded.

    All that the candidate does ends in the result. Raises AssignmentFault and SandboxError.
    """
    begin = time.monotonic()
    run = _prepare(task, case, seed, watch)
    try:
        verdict, message, _, detail = _attempt(team, run, entry, call_seconds)
    finally:
        _close(run)
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
    run = _prepare(task, case, seed, watch)
    try:
        network = authored.network(task, case, watch)
        bound, by = authored.bound(task, case, run.inputs[0], watch)
        verdict, message, steps, _ = _attempt(team, run, entry, call_seconds)
    finally:
        _close(run)
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


def _slots_bytes(task: CollectiveTask, case: Case, watch: Watch) -> int:
    return authored.calls(task, case, watch) * authored.slot_size(task, case, watch)


def _prepare(task: CollectiveTask, case: Case, seed: int, watch: Watch) -> _Run:
    """Lay out and fill every slot of every rank, in the judge's own copy. Raises AssignmentFault."""
    calls = authored.calls(task, case, watch)
    slots = [plan(tensors, calls) for tensors in authored.tensors(task, case, watch)]
    run = _Run(task, case, watch, slots, [], [[] for _ in range(calls)], [])
    try:
        for rank, mine in enumerate(slots):
            image = Arena(mine[-1].end)
            run.images.append(image)
            image.prepare(mine)
            given = [
                {name: view for name, view in image.tensors(slot).items() if _role(slot, name) != "out"}
                for slot in mine
            ]
            seeds = [_seed(seed, slot.index) for slot in mine]
            guard("fill", case, partial(task.fill, case.params, rank, given, seeds), watch)
            for inputs, views in zip(run.inputs, given, strict=True):
                inputs.append(snapshot(views))
    except BaseException:
        _close(run)
        raise
    return run


def _role(slot: SlotLayout, name: str) -> str:
    return next(place.tensor.role for place in slot.plan.placements if place.tensor.name == name)


def _seed(seed: int, slot: int) -> int:
    """A seed of 128 bits for each call, the same on every rank."""
    key = seed.to_bytes(16)
    return int.from_bytes(hashlib.blake2b(str(slot).encode(), key=key, digest_size=16).digest())


def _close(run: _Run) -> None:
    for image in run.images:
        image.close()


def _attempt(
    team: Team, run: _Run, entry: str, call_seconds: float
) -> tuple[Verdict, Text | None, Sequence[Sequence[Step]], str]:
    """Verdict, what to say, what each rank sent and received, and the candidate's own words."""
    carrier = _carrier(run)
    try:
        _call(team, run, entry, call_seconds, carrier)
        with run.watch(f"audit of {run.case.id}", 60.0):
            _audit(team, run)
    except CandidateFailure as failure:
        return failure.verdict, failure.text, (), failure.detail
    except _Wrong as wrong:
        sentence = [
            text("rank_wrong", rank=wrong.rank, ranks=run.ranks, reason=words)
            for words in (wrong.why.en, wrong.why.zh)
        ]
        return (
            Verdict.WRONG_ANSWER,
            Text(code=wrong.why.code, en=sentence[0].en, zh=sentence[1].zh),
            (),
            "",
        )
    return Verdict.ACCEPTED, None, carrier.steps, ""


def _carrier(run: _Run) -> Carrier:
    task, case, watch = run.task, run.case, run.watch
    calls = len(run.slots[0])
    return Carrier(
        authored.groups(task, case, watch),
        calls * authored.most_bytes(task, case, watch),
        region_bytes(task, case, watch),
    )


def _call(team: Team, run: _Run, entry: str, call_seconds: float, carrier: Carrier) -> None:
    task, case, watch = run.task, run.case, run.watch
    ranks = team.ranks[: run.ranks]
    region = region_bytes(task, case, watch)
    start = -(-max(mine[-1].end for mine in run.slots) // ALIGN) * ALIGN
    regions = (start, start + region)
    called = signature(entry, task, case, watch)
    for rank, client in enumerate(ranks):
        mine = run.slots[rank]
        client.memory.bytes()[: mine[-1].end].copy_(run.images[rank].bytes()[: mine[-1].end])
        _join(run, client, rank, carrier.groups[rank], regions)
        scalars = authored.scalars(task, case, rank, watch)
        client.bind(mine, scalars, entry=entry, signature=called)
    Switchboard(ranks, regions, carrier).call(len(run.slots[0]), call_seconds)


def _join(run: _Run, client: Rank, rank: int, group: Sequence[int], regions: tuple[int, int]) -> None:
    """Tell a rank who it is; of an uneven network it learns the dearest path."""
    alpha, byte = 0, 0
    if run.task.network is not None:
        network = authored.network(run.task, run.case, run.watch)
        routes = [network.route(a, b) for a in range(run.ranks) for b in range(run.ranks) if a != b]
        alpha = max((route.alpha_ps for route in routes), default=0)
        byte = max((route.byte_ps for route in routes), default=0)
    client.join(
        rank=list(group).index(rank),
        members=list(group),
        regions=regions,
        size=regions[1] - regions[0],
        alpha_ns=alpha / 1000,
        byte_ns=byte / 1000,
    )


def _audit(team: Team, run: _Run) -> None:
    """Compare every rank's outputs of every call. Raises _Wrong, AssignmentFault."""
    shared: list[list[Slot]] = []
    for rank, client in enumerate(team.ranks[: run.ranks]):
        mine = run.slots[rank]
        for _, name in client.memory.disturbed(mine):
            raise _Wrong(rank, text("outside", output=name))
        shared.append([snapshot(client.memory.tensors(slot)) for slot in mine])
    for rank, slots in enumerate(run.slots):
        for slot, found in zip(slots, shared[rank], strict=True):
            before = run.images[rank].tensors(slot)
            for name, values in found.items():
                if _role(slot, name) == "in" and not same_bits(values, before[name].contiguous()):
                    raise _Wrong(rank, text("input_modified", name=name))
    for number, inputs in enumerate(run.inputs):
        expected = _oracle(run, inputs)
        for rank in range(run.ranks):
            _compare(run, rank, inputs, expected[rank], shared[rank][number])


def _compare(run: _Run, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot) -> None:
    tensors = [placement.tensor for placement in run.slots[rank][0].plan.placements]
    for comparison in compare(tensors, found, expected, run.case):
        first = comparison.first_wrong
        if first is not None:
            name = f"{first.output} of rank {rank}"[:64]
            first = FirstWrong(output=name, index=first.index, expected=first.expected, found=first.found)
        run.compared.append(replace(comparison, first_wrong=first))
        if not comparison.passed:
            raise _Wrong(rank, _explained(run, rank, inputs, expected, found, reason(comparison)))


def _explained(run: _Run, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot, why: Text) -> Text:
    """The reason with the author's hint behind it. A hint that fails is left out: it decides nothing."""
    explain = run.task.explain
    if explain is None:
        return why
    with suppress(AssignmentFault):
        hint = guard(
            "explain", run.case, lambda: explain(run.case.params, rank, inputs, expected, found), run.watch
        )
        if hint is not None:
            return Text(code=why.code, en=f"{why.en} {hint[0]}"[:8192], zh=f"{why.zh}{hint[1]}"[:8192])
    return why


def _oracle(run: _Run, inputs: Sequence[Slot]) -> Sequence[Slot]:
    """Expected outputs by rank. Raises AssignmentFault."""
    case = run.case
    expected = guard("oracle", case, lambda: run.task.oracle(case.params, inputs), run.watch)
    if not isinstance(expected, Sequence) or len(expected) != run.ranks:
        wrong = f"task.py: oracle of case {case.id!r}: it must return a list with one dict a rank"
        raise AssignmentFault("oracle", wrong)
    return expected
