"""The timed cases, all in one pinned sandbox with no other one running beside it."""

import time
from collections.abc import Sequence
from dataclasses import replace

from grader.contract import Language, Mode, Phase, Text, TimedResult, Verdict
from grader.judge import authored, overhead, timed
from grader.judge.client import Client
from grader.judge.collective import timed as collective
from grader.judge.collective.group import Group
from grader.judge.failure import CandidateFailure
from grader.judge.gpu import ring
from grader.judge.gpu.device import llc_bytes
from grader.judge.interval import Rule
from grader.judge.overhead import Overhead
from grader.judge.phases import light, priced
from grader.judge.phases.context import Context, Ended, because, team_purpose
from grader.judge.prepare import Unit
from grader.messages import text
from grader.task import Case, CollectiveTask

ONCE_SLOTS = 12
"""Most calls of the one round of a check: enough to see calls that are skipped or answered from memory."""
SESSION_SECONDS = 9.0
"""For the rounds of all timed cases of a session on a CPU; what one case does not need the next may take."""
MEAN_SECONDS = 4.5
"""A case of a session of more than two gets at least this many on average."""
CANDIDATE_SECONDS = 150.0
"""Most that the judge waits for the candidate in one timed case, all its rounds and probes together."""
CASE_SECONDS = 240.0
"""For one timed case as a whole, fills and audits included. Its end is the assignment's fault: the
candidate's own limits, each and together, come before it."""


def is_timed(context: Context) -> bool:
    """Whether there is anything to time: without a device Triton is interpreted."""
    compiled = context.plan.language is not Language.TRITON or context.sandboxes.device is not None
    return compiled and bool(context.plan.calls() or context.plan.together())


def plan_ahead(context: Context) -> None:
    """Size the rings before code of the submission runs, which could take memory. Raises AssignmentFault."""
    if context.mode is Mode.GRADE and is_timed(context):
        plans(context)


def plans(context: Context) -> Sequence[timed.Plan]:
    """Ring and bounds of every timed case, the same ones whenever asked. Raises AssignmentFault."""
    if context.timed_plans is None:
        context.timed_plans = _plans(context)
    return context.timed_plans


def _plans(context: Context) -> tuple[timed.Plan, ...]:
    with context.watch("cost", authored.SECONDS):
        planned = tuple(
            timed.plan(
                context.plan.function(case.part),
                case,
                context.hardware,
                device=context.sandboxes.device,
                most_bytes=context.call_bytes(),
            )
            for case in context.plan.calls()
        )
        planned += tuple(_together(context, case) for case in context.plan.together())
    return tuple(_cut(plan) for plan in planned) if context.once else planned


def _together(context: Context, case: Case) -> timed.Plan:
    task = context.plan.tasks[case.part]
    assert isinstance(task, CollectiveTask)
    return collective.plan(task, case, context.hardware, context.watch, most_bytes=context.call_bytes())


def _cut(plan: timed.Plan) -> timed.Plan:
    together = plan.together
    if isinstance(together, collective.Ranks):
        together = together.cut(ONCE_SLOTS)
    return replace(plan, slots=plan.slots[:ONCE_SLOTS], together=together)


def arena_bytes(cases: Sequence[timed.Plan]) -> int:
    """Bytes of an arena in which each of the rings fits."""
    return max(plan.arena_bytes for plan in cases)


def start_ahead(context: Context) -> None:
    """Start the sandboxes of the timed cases. Raises SandboxError.

    On a device an empty candidate of ours needs a ring as large first (`_alone`), and two may not fit.
    """
    if context.sandboxes.device is not None:
        return
    if alone := [plan for plan in plans(context) if plan.together is None]:
        context.sandboxes.ahead("timed", arena_bytes(alone), pinned=True)
    for unit, planned in _units(context):
        ranks, size = _ranks(planned), arena_bytes(planned)
        context.sandboxes.group_ahead(team_purpose(unit, "timed"), ranks, size, pinned=True)


def _units(context: Context) -> list[tuple[Unit, list[timed.Plan]]]:
    """The plans of collectives in real time, by the file that they need."""
    planned = {plan.case.id: plan for plan in plans(context) if plan.together is not None}
    return [
        (unit, [planned[case.id] for case in cases])
        for unit, cases in context.plan.groups(context.plan.together())
    ]


def _ranks(planned: Sequence[timed.Plan]) -> int:
    return max(len(plan.together.slots) for plan in planned if isinstance(plan.together, collective.Ranks))


def run(context: Context) -> str | None:
    """Time or price the timed cases; the first case whose times scattered too much, if any.

    Raises Ended if a case fails, AssignmentFault, SandboxError.
    """
    if context.mode is not Mode.GRADE:
        return None
    plan = context.plan
    here = (*((*plan.calls(), *plan.together()) if is_timed(context) else ()), *plan.priced())
    for case in plan.timed:
        if case not in here:
            reason = plan.skipped.get(case.id, text("triton_not_timed"))
            context.findings.timed.append(_not_timed(case, reason))
    unstable = _calls(context) if is_timed(context) else None
    priced.run(context)
    return unstable


def _calls(context: Context) -> str | None:
    unstable: str | None = None
    if own := [plan for plan in plans(context) if plan.together is None]:
        planned = _alone(context, own)
        client = context.must_load(context.plan.main, "timed", arena_bytes(planned), Phase.TIMED, pinned=True)
        unstable = _timed_by(context, client, planned)
    for unit, of_ranks in _units(context):
        try:
            group = context.load_group(
                unit, "timed", _ranks(of_ranks), arena_bytes(of_ranks), Phase.TIMED, pinned=True
            )
        except CandidateFailure as failure:
            raise Ended(failure.verdict, failure.text) from None
        unstable = _timed_by(context, group, of_ranks) or unstable
    return unstable


def _timed_by(context: Context, client: Client | Group, planned: Sequence[timed.Plan]) -> str | None:
    try:
        return _time_all(context, client, planned)
    finally:
        context.sandboxes.release(client)


def _alone(context: Context, planned: Sequence[timed.Plan]) -> Sequence[timed.Plan]:
    """On a device, what must be measured before any code of the submission runs there again."""
    device = context.sandboxes.device
    if device is None or context.once:
        return planned
    with context.progress.step(Phase.TIMED, "yardsticks"):
        yardstick = device.yardstick(context.hardware)
        if not yardstick.ok:  # One repeat: a device that was just woken up is slow.
            yardstick = device.yardstick(context.hardware)
        context.findings.yardstick = yardstick
        device.reserve(max(ring.working_bytes(plan.task, plan.slots[0].plan.stride) for plan in planned))
        planned = [
            replace(plan, fill_rate=ring.rehearse(plan.task, plan.case, plan.slots, llc_bytes()))
            for plan in planned
        ]
    with context.progress.step(Phase.TIMED, "empty rounds"):
        empties = overhead.sealed(context.sandboxes.backend, device, planned)
        return [replace(plan, empty=empty) for plan, empty in zip(planned, empties, strict=True)]


def _time_all(context: Context, client: Client | Group, planned: Sequence[timed.Plan]) -> str | None:
    constant = Overhead.of(context.hardware)
    context.findings.unranked = context.findings.unranked or timed.unranked(
        client, context.hardware, constant
    )
    yardstick = context.findings.yardstick
    if yardstick is not None and not yardstick.ok:
        context.findings.unranked = text("yardstick")
    unstable: str | None = None
    left = max(SESSION_SECONDS, MEAN_SECONDS * len(planned))
    with context.sandboxes.still():
        for number, plan in enumerate(planned):
            context.progress.event(Phase.TIMED, case=plan.case.id, done=number, total=len(planned))
            rule, begin = _rule(context, left, len(planned) - number), time.monotonic()
            if _time(context, client, plan, constant, rule) is Verdict.UNSTABLE_TIMING:
                unstable = unstable or plan.case.id
            left -= time.monotonic() - begin
            if not client.alive:
                for other in planned[number + 1 :]:
                    context.findings.timed.append(_not_timed(other.case, text("stale_ceiling")))
                break
        if context.sandboxes.device is not None:
            context.findings.reading = context.sandboxes.device.noted()
    return unstable


def _rule(context: Context, left: float, cases: int) -> Rule | None:
    """On a CPU, the rule of the next of so many cases that share the seconds left; None for the usual one."""
    if context.sandboxes.device is not None or context.hardware is None:
        return None
    usual = Rule(target=context.hardware.interval_target)
    return replace(usual, seconds=min(usual.seconds, max(0.0, left) / cases))


def _time(
    context: Context, client: Client | Group, plan: timed.Plan, constant: Overhead, rule: Rule | None
) -> Verdict:
    case, findings = plan.case, context.findings
    limits = timed.TimeLimits(warm_up=context.plan.call_seconds)
    client.entry = context.plan.entries[case.part]
    client.allow(CANDIDATE_SECONDS)
    with context.watch(f"timed case {case.id}", CASE_SECONDS):
        begin = time.monotonic()
        timing = timed.run(client, plan, overhead=constant, limits=limits, rule=rule, once=context.once)
        seconds = time.monotonic() - begin
    if timing.result.verdict not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING):
        context.note_output(client)
    if light.doubtful(timing) and context.sandboxes.device is None:
        context.sandboxes.release(client)
        timing = light.confirmed(context, plan, timing)
    for step, spent in {**timing.steps, "rest": seconds - sum(timing.steps.values())}.items():
        context.progress.add(Phase.TIMED, step, max(0.0, spent))
    findings.timed.append(timing.result)
    findings.duty_cycle = timing.duty_cycle if timing.duty_cycle is not None else findings.duty_cycle
    findings.evidence.extend(timing.evidence)
    if timing.detail:
        findings.notes.append(f"{case.id}: {timing.detail}")
    verdict = timing.result.verdict
    assert verdict is not None
    if verdict not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING):
        raise Ended(verdict, because("timed_failed", timing.result.message, case=case.id))
    return verdict


def _not_timed(case: Case, why: Text) -> TimedResult:
    return TimedResult(
        case=case.id,
        part=case.part,
        verdict=None,
        message=why,
        params=dict(case.params),
        fraction_reason=why,
        linked=case.linked,
    )
