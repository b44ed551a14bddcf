"""A timed case: its plan (ring and bounds), its run on a client, and the result for the Report."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Any, Protocol

from grader import scoring, sol
from grader.contract import Evidence, Measure, ProbeResult, Text, TimedResult, Verdict
from grader.hardware.profile import Hardware
from grader.judge import authored, cores, yardstick
from grader.judge.cache import Evictor, last_level_bytes
from grader.judge.client import Client
from grader.judge.clock import Clock, IntegrityFailure, Slots, quiet
from grader.judge.collective.group import Group
from grader.judge.duty import Duty
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.gpu import link, rowaudit
from grader.judge.gpu.clock import DeviceClock
from grader.judge.gpu.device import Device
from grader.judge.gpu.duty import Duty as DeviceDuty
from grader.judge.gpu.ring import DeviceRing, working_bytes
from grader.judge.host_probes import HostProbes
from grader.judge.interval import Decision, Rule, of_median
from grader.judge.layout import LayoutError, SlotLayout, slot_bytes
from grader.judge.layout import plan as lay_out
from grader.judge.overhead import Overhead
from grader.judge.probes import Latency, Probes
from grader.judge.ring import Ring
from grader.judge.rounds import ROUND_SECONDS, Rounds
from grader.messages import text
from grader.task import Case, Cost, FunctionTask

RING_BYTES = 512 << 20
"""Of all ranks together, where there are several."""
MAX_SLOTS = 4096
FULL_AUDIT_SLOTS = 256
"""Rounds of more calls are sampled even where a task asks for full audits."""
SAMPLED_SLOTS = 1072
"""Over all rounds: skipping 2 % of the calls in half of them then survives 50 tries with probability 1e-3."""


class Together(Protocol):
    """What ranks that run at the same time have in place of one candidate's ring (`collective.timed`)."""

    @property
    def arena_bytes(self) -> int:
        """Size of the ring of the rank that needs the most."""
        ...

    def ring(self, group: Group) -> Slots:
        """Rings of all ranks as one."""
        ...

    def warm_up(self, group: Group, ring: Slots, seconds: float) -> None:
        """Bind all slots and make one call on values that are thrown away. Raises CandidateFailure."""
        ...


@dataclass(frozen=True)
class Plan:
    """Ring and bounds of one timed case on one hardware; the arena must hold `arena_bytes`."""

    task: FunctionTask
    case: Case
    hardware: Hardware | None
    cost: Cost
    slots: tuple[SlotLayout, ...]
    bound: sol.Bound | None
    """None where the machine is not calibrated."""
    ceiling: sol.Bound | None
    """Bound at the physical ceiling: below it is faster than light."""
    device: Device | None = None
    """Where the tensors lie, if not in the CPU's memory."""
    round_seconds: float = ROUND_SECONDS
    """Least length of a round."""
    fill_rate: float = 0.0
    """On a device, bytes/s of the ring's fill with nobody else there; 0 where it was not measured."""
    empty: Latency | None = None
    """On a device, what a sealed round of this case takes with a candidate of ours that does nothing."""

    together: Together | None = None
    """Of a collective in real time, its ranks; `task` and `slots` are then those of one of them."""

    quiet_seconds: float = inf
    """On a CPU, the longest that the judge's own readings around a round may take for it to count."""

    @property
    def arena_bytes(self) -> int:
        """Size of the ring, and of the room for a link's key."""
        if self.together is not None:
            return self.together.arena_bytes
        return self.slots[-1].end + (link.KEY_BYTES if self.chained else 0)

    @property
    def chained(self) -> bool:
        """Whether the calls of a round are linked here."""
        return self.case.linked and self.device is not None

    @property
    def sample(self) -> int | None:
        """Slots to audit in a round, None for all."""
        if self.device is None and self.task.audit == "full" and len(self.slots) <= FULL_AUDIT_SLOTS:
            return None
        return ceil(SAMPLED_SLOTS / Rule(target=1.0).min_rounds)


@dataclass(frozen=True)
class TimeLimits:
    """Seconds: of the warm-up call (compilation and autotuning included), and of any one round."""

    warm_up: float = 60.0
    round: float = 2.0


@dataclass(frozen=True)
class Timing:
    """What one timed case gave; `result.verdict` says whether it is accepted.

    `steps`: seconds of the session by step. `detail`: for staff. `duty_cycle`: share of the time in which a
    device had work, where there is one.
    """

    result: TimedResult
    evidence: tuple[Evidence, ...] = ()
    steps: dict[str, float] = field(default_factory=dict)
    detail: str = ""
    duty_cycle: float | None = None
    readings: tuple[float, ...] = ()
    """On a CPU, the judge's own readings of all rounds of the measurement (see `judge.yardstick`)."""


def plan(
    task: FunctionTask,
    case: Case,
    hardware: Hardware | None,
    device: Device | None = None,
    *,
    most_bytes: int | None = None,
) -> Plan:
    """Size the ring of a case. Raises AssignmentFault where the task's own functions fail.

    `most_bytes`: what one call may take on a CPU; by default what this machine has now.
    """
    tensors = authored.tensors(task, case)
    cost = authored.cost(task, case)
    try:
        size = slot_bytes(tensors)
    except LayoutError as error:
        raise AssignmentFault("tensors", str(error)) from error
    if device is not None and case.linked:
        link.check(tensors, case)
        cost = link.cost(cost, tensors)
    if device is not None and task.rowwise:
        rowaudit.check(tensors, case)
    bound = ceiling = None
    count = MAX_SLOTS
    round_seconds = ROUND_SECONDS if device is None else Overhead.of(hardware).round_seconds
    if hardware is not None and (hardware.calibrated is not None or hardware.kind == "gpu"):
        try:
            bound = sol.bound(cost, hardware, linked=case.linked)
            ceiling = sol.bound(cost, hardware, linked=case.linked, rates="ceiling")
        except sol.SolError as error:
            raise AssignmentFault("cost", str(error)) from error
        count = min(MAX_SLOTS, ceil(round_seconds / ceiling.seconds))
    if device is None:
        available = authored.most_bytes() if most_bytes is None else most_bytes
        most = min(RING_BYTES, available)
    else:
        available = most = device.ring_bytes(working_bytes(task, size))
    authored.fitting("tensors", case, size, available)
    count = max(1, min(count, most // size))
    laid_out = Plan(
        task, case, hardware, cost, lay_out(tensors, count), bound, ceiling, device, round_seconds
    )
    if device is not None or hardware is None or hardware.yardstick_seconds is None:
        return laid_out
    return replace(laid_out, quiet_seconds=yardstick.SLOWER * hardware.yardstick_seconds)


def run(
    client: Client | Group,
    plan: Plan,
    *,
    overhead: Overhead,
    limits: TimeLimits = TimeLimits(),
    rule: Rule | None = None,
    once: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _most: None,
) -> Timing:
    """Time one case on a client whose code is loaded and whose arena holds the plan's ring.

    `once` makes a single round over the whole ring: its results are audited, and no time is taken from it.
    `progress` gets the rounds done and the most there can be. All a candidate does ends in the result's
    verdict. Raises AssignmentFault and SandboxError. Afterwards the client serves another case only if the
    verdict is accepted or unstable timing; else it must be closed, its processes may be frozen.
    """
    hardware = plan.hardware
    if client.process.freezer is None:
        overhead = Overhead()  # What was calibrated with freezing must not be subtracted without it.
    rule = rule or Rule(target=hardware.interval_target if hardware else 0.05)
    llc = hardware.llc_bytes if hardware and hardware.llc_bytes else last_level_bytes()
    steps: dict[str, float] = {}
    ring, clock = _machinery(client, plan, llc, steps, limits)
    rounds = Rounds(
        clock,
        len(plan.slots),
        rule,
        overhead.minimum,
        limits.round,
        progress,
        plan.round_seconds,
        plan.quiet_seconds,
    )
    evidence: tuple[Evidence, ...] = ()
    detail = ""
    probe: ProbeResult | None = None
    if isinstance(clock, DeviceClock):
        clock.duty = None if once else DeviceDuty()
        clock.observe = plan.device.note if plan.device else clock.observe
    else:
        clock.duty = None if once else Duty()
    try:
        with quiet():
            with clock.step("warm-up"):
                _warm_up(client, ring, plan, limits.warm_up)
            if once:
                rounds.once()
                verdict, message = Verdict.ACCEPTED, None
            else:
                verdict, message = _measure(rounds, plan, limits.round)
                if verdict is Verdict.ACCEPTED and not plan.chained:
                    probe = _probed(rounds, plan.empty, overhead, limits.round)
    except CandidateFailure as failure:
        verdict, message, detail = failure.verdict, failure.text, failure.detail
        evidence = (failure.evidence,) if isinstance(failure, IntegrityFailure) else ()
    finally:
        ring.close()
    void = [
        f"round {number} did not count: {seen.text} ({seen.measured:.6g} {seen.unit})"
        for number, seen in clock.voids.items()
    ]
    summary = clock.summary() if isinstance(clock, DeviceClock) else ""
    if isinstance(client, Group):
        summary = client.summary()
    detail = "\n".join(part for part in (detail, *void, summary) if part)
    result = _result(plan, rounds, overhead, verdict, message, client.remark)
    result = result.model_copy(update={"probe": probe})
    duty = clock.duty
    return Timing(result, evidence, steps, detail, duty.cycle if duty else None, tuple(rounds.readings))


def unranked(client: Client | Group, hardware: Hardware | None, overhead: Overhead) -> Text | None:
    """Why times taken here must not be ranked, or None if they may."""
    if client.process.freezer is None:
        return text("no_freezer")
    if hardware is None or hardware.calibrated is None or overhead.minimum <= 0:
        return text("not_calibrated")
    chosen = cores.choose()
    if chosen.shared:
        return text("one_core")
    ranks = len(client.ranks) if isinstance(client, Group) else 1
    if ranks > len(chosen.candidate):
        return text("ranks_share_cores", ranks=ranks, cores=len(chosen.candidate))
    return None


def _machinery(
    client: Client | Group, plan: Plan, llc_bytes: int, steps: dict[str, float], limits: TimeLimits
) -> tuple[Slots | DeviceRing, Clock | DeviceClock]:
    """Ring and clock of the machine that the tensors lie on."""
    freezer, case = client.process.freezer, plan.case
    if isinstance(client, Group):
        assert plan.together is not None
        rings = plan.together.ring(client)
        return rings, Clock(client, freezer, rings, Evictor(llc_bytes), plan.sample, case.id, steps)
    if client.device_arena is None:
        ring = Ring(client.arena, plan.slots, plan.task, case)
        return ring, Clock(client, freezer, ring, Evictor(llc_bytes), plan.sample, case.id, steps)
    on_device = DeviceRing(client.device_arena, plan.slots, plan.task, case, llc_bytes, linked=plan.chained)
    return on_device, DeviceClock(
        client,
        freezer,
        on_device,
        plan.sample,
        case.id,
        steps,
        arm_seconds=limits.warm_up,
        fill_rate=plan.fill_rate,
    )


def _warm_up(client: Client | Group, ring: Slots | DeviceRing, plan: Plan, seconds: float) -> None:
    """Bind all slots and make one call on values that are thrown away."""
    if isinstance(client, Group):
        assert plan.together is not None
        assert not isinstance(ring, DeviceRing)
        plan.together.warm_up(client, ring, seconds)
        return
    assert isinstance(ring, Ring | DeviceRing)
    chain = ring.link if isinstance(ring, DeviceRing) else None
    message = chain.message() if chain is not None else None
    client.bind(plan.slots, authored.scalars(plan.task, plan.case), link=message)
    ring.provide(1)
    try:
        client.call(0, time.monotonic() + seconds)
    except CandidateFailure as failure:
        if failure.verdict is not Verdict.TIME_LIMIT:
            raise
        slow = text("slow_warm_up", limit=f"{seconds:g}")
        raise CandidateFailure(failure.verdict, slow, detail=failure.text.en) from failure


def _measure(rounds: Rounds, plan: Plan, limit_seconds: float) -> tuple[Verdict, Text | None]:
    try:
        decision = rounds.measure()
    except CandidateFailure as failure:
        if failure.verdict is not Verdict.TIME_LIMIT or failure.text.code in ("waited_for", "comm_late"):
            raise
        # A call that takes too long is told what is asked of it.
        bound = f"{plan.bound.seconds * 1e3:.3g} ms" if plan.bound else "?"
        slow = text("slow_round", calls=rounds.calls, limit=f"{limit_seconds:g}", bound=bound)
        raise CandidateFailure(failure.verdict, slow, detail=failure.text.en) from failure
    if plan.ceiling is not None:
        rounds.check_light(plan.ceiling)
    if decision is Decision.ENOUGH:
        return Verdict.ACCEPTED, None
    if len(rounds.seconds) < rounds.rule.min_rounds:
        disturbed = text(
            "disturbed",
            disturbed=rounds.disturbed,
            rounds=rounds.disturbed + len(rounds.seconds),
            slower=f"{yardstick.SLOWER:g}",
            least=rounds.rule.min_rounds,
        )
        return Verdict.UNSTABLE_TIMING, disturbed
    width = of_median(rounds.seconds).half_width
    scattered = text(
        "scattered", width=f"{width:.1%}", rounds=len(rounds.seconds), target=f"{rounds.rule.target:.0%}"
    )
    return Verdict.UNSTABLE_TIMING, scattered


def _probed(
    rounds: Rounds, empty: Latency | None, overhead: Overhead, limit_seconds: float
) -> ProbeResult | None:
    """Sealed probes beside the ring's time. Raises IntegrityFailure.

    On a device where the empty round is known; on a CPU where the constant is, and calls can overlap.
    """
    clock, median = rounds.clock, of_median(rounds.seconds).median
    if isinstance(clock, DeviceClock):
        if empty is None:
            return None

        def single(audited: bool) -> float:
            return rounds.single() if audited else clock.single(limit_seconds)

        return Probes(single, empty, clock.case).check(median)
    if overhead.minimum <= 0 or len(cores.choose().candidate) < 2:
        return None
    return HostProbes(rounds.single, overhead, clock.case).check(median)


def _result(
    plan: Plan, rounds: Rounds, overhead: Overhead, verdict: Verdict, message: Text | None, remark: str
) -> TimedResult:
    case = plan.case
    if message is None and remark:
        message = text("eager", detail=remark)
    result = TimedResult(
        case=case.id,
        part=case.part,
        verdict=verdict,
        message=message,
        params=dict(case.params),
        shapes={p.tensor.name: p.tensor.describe() for p in plan.slots[0].plan.placements},
        calls=rounds.calls,
        rounds=tuple(rounds.seconds),
        disturbed_rounds=rounds.disturbed,
        overhead_seconds=overhead.minimum,
        bias_bound_seconds=(overhead.median - overhead.minimum) / rounds.calls,
        eager=plan.device is None or bool(remark),
        linked=case.linked,
        audited_slots=rounds.audited,
        errors=tuple(comparison.stats() for comparison in rounds.errors),
    )
    if len(rounds.seconds) < rounds.rule.min_rounds:
        return result
    return result.model_copy(update=_measured(plan, rounds.seconds, verdict))


def _measured(plan: Plan, seconds: list[float], verdict: Verdict) -> dict[str, Any]:
    """Measure and fractions as fields of the result; the interval covers the spread between sessions too."""
    hardware, bound = plan.hardware, plan.bound
    interval = of_median(seconds).widened(hardware.session_spread if hardware else 0.0)
    measure = Measure(
        quantity="time of a call",
        unit="s",
        better="lower",
        value=interval.median,
        low=interval.low,
        high=interval.high,
        bound=bound.seconds if bound else None,
        bound_by=bound.by if bound else None,
    )
    if hardware is None or bound is None:
        return {"measure": measure, "fraction_reason": text("not_calibrated")}
    if verdict is not Verdict.ACCEPTED:
        return {"measure": measure}
    fraction = scoring.case_fraction(interval.median, interval.low, interval.high, bound.seconds)
    measured = sol.bound(plan.cost, hardware, linked=plan.case.linked, rates="measured")
    return {
        "measure": measure,
        "fraction": fraction.value,
        "fraction_low": fraction.low,
        "fraction_high": fraction.high,
        "ceiling_fraction": measured.seconds / interval.median,
    }
