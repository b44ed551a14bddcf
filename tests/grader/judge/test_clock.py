"""One timed round against real sandboxed candidates: what is accepted, and what ends it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from grader.contract import Verdict
from grader.hardware.profile import Hardware
from grader.judge import timed
from grader.judge.audit import Comparison
from grader.judge.cache import Evictor
from grader.judge.channel import DONE, LENGTH, NONCE_BYTES
from grader.judge.client import Client
from grader.judge.clock import GROWTH_SECONDS, Clock, IntegrityFailure
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.ring import Ring
from grader.sandbox.base import Freezer, FreezeTimeoutError
from grader.task import Case, FunctionTask, Params, Slot

CALLS = 8
SECONDS = 10.0
SLOW_SECONDS = 0.05
ANSWERS = 4
"""The candidate's descriptor."""
Starter = Callable[..., Client]
CaseMaker = Callable[..., Case]
HardwareMaker = Callable[..., Hardware]


class LeakyFreezer:
    """Counts CPU time like the real one, but stops nothing."""

    kind: Literal["cgroup2", "cgroup1"] = "cgroup2"

    def __init__(self, real: Freezer) -> None:
        self._real = real

    def freeze(self, timeout_seconds: float = 1.0) -> None:
        """Stop nothing."""

    def thaw(self) -> None:
        """Nothing is stopped."""

    def cpu_seconds(self) -> float:
        return self._real.cpu_seconds()

    def runnable(self) -> bool:
        return False


class StuckFreezer(LeakyFreezer):
    """Never gets the candidate to stand still."""

    def freeze(self, timeout_seconds: float = 1.0) -> None:
        raise FreezeTimeoutError(f"not frozen within {timeout_seconds} s")


class SlowFreezer(LeakyFreezer):
    """Takes its time until it confirms that all stands still."""

    def freeze(self, timeout_seconds: float = 1.0) -> None:
        self._real.freeze(timeout_seconds)
        time.sleep(SLOW_SECONDS)

    def thaw(self) -> None:
        self._real.thaw()


def answer(client: Client, message: bytes) -> None:
    """Bytes in the pipe to the judge, as if the candidate had written them."""
    Path(f"/proc/{client.process.host_pid}/fd/{ANSWERS}").write_bytes(message)


@pytest.fixture
def clock(
    start: Starter,
    toy: FunctionTask,
    case: CaseMaker,
    hardware: HardwareMaker,
    request: pytest.FixtureRequest,
) -> Callable[..., Clock]:
    """A clock over a bound ring of CALLS slots: `clock(mode)`."""

    def make(mode: int = 0, task: FunctionTask = toy, sample: int | None = None, **params: object) -> Clock:
        chosen = case(mode, **params)
        plan = timed.plan(task, chosen, hardware())
        plan = replace(plan, slots=plan.slots[:CALLS])
        client = start(plan)
        client.bind(plan.slots, dict(task.scalars(chosen.params)))
        ring = Ring(client.arena, plan.slots, task, chosen)
        request.addfinalizer(ring.close)
        return Clock(client, client.process.freezer, ring, Evictor(1 << 20), sample, chosen.id)

    return make


def client_of(clock: Clock) -> Client:
    assert isinstance(clock.client, Client)
    return clock.client


def ring_of(clock: Clock) -> Ring:
    assert isinstance(clock.ring, Ring)
    return clock.ring


@pytest.mark.parametrize("strided", [False, True])
def test_an_honest_round_is_timed_and_audited_in_full(clock: Callable[..., Clock], strided: bool) -> None:
    honest = clock(strided=strided)
    inputs = []
    for _ in range(3):
        done = honest.round(CALLS, SECONDS)
        assert done.passed
        assert (done.calls, done.audited) == (CALLS, CALLS)
        assert 0 < done.seconds < SECONDS
        assert [comparison.elements for comparison in done.comparisons] == [CALLS * 31 * 257]
        slots = ring_of(honest).slots
        inputs += [client_of(honest).arena.tensors(slot)["x"].clone() for slot in slots]
    # Every slot of every round had values of its own.
    values = torch.stack(inputs).numpy().ravel()
    assert len(np.unique(values)) > 0.98 * len(values)
    assert set(honest.steps) == {"arm", "fill", "evict", "run", "yardstick", "audit"}


def test_the_clock_runs_until_the_freeze_is_confirmed(clock: Callable[..., Clock]) -> None:
    honest = clock()
    assert honest.freezer is not None
    honest.freezer = SlowFreezer(honest.freezer)
    done = honest.round(CALLS, SECONDS)
    assert done.passed
    assert done.seconds >= SLOW_SECONDS


def test_a_byte_that_waits_before_go_is_a_verdict(clock: Callable[..., Clock], toy: FunctionTask) -> None:
    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
        toy.fill(params, slots, seeds)
        answer(client_of(early), b"x")

    early = clock(task=replace(toy, fill=fill))
    with pytest.raises(IntegrityFailure) as caught:
        early.round(CALLS, SECONDS)
    assert caught.value.verdict is Verdict.WORK_OUTSIDE_THE_CLOCK
    assert caught.value.evidence.kind == "unread"


def test_done_must_echo_the_nonce_of_its_round(
    clock: Callable[..., Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = clock()
    go = honest.client.go

    def answered_before(nonce: bytes) -> None:
        old = DONE + bytes(NONCE_BYTES)
        answer(client_of(honest), LENGTH.pack(len(old)) + old)
        go(nonce)

    monkeypatch.setattr(honest.client, "go", answered_before)
    with pytest.raises(CandidateFailure) as caught:
        honest.round(CALLS, SECONDS)
    assert caught.value.verdict is Verdict.SANDBOX_VIOLATION


def test_fewer_calls_leave_the_other_slots_alone(clock: Callable[..., Clock]) -> None:
    honest = clock()
    assert honest.round(CALLS, SECONDS).passed
    before = client_of(honest).arena.tensors(ring_of(honest).slots[3])["x"].clone()
    assert honest.round(3, SECONDS).passed
    assert torch.equal(before, client_of(honest).arena.tensors(ring_of(honest).slots[3])["x"])


@pytest.mark.parametrize(("mode", "index"), [(1, (0, 0)), (7, (30, 256))])
def test_one_wrong_call_of_a_round_is_found(
    clock: Callable[..., Clock], mode: int, index: tuple[int, int]
) -> None:
    done = clock(mode).round(CALLS, SECONDS)
    assert not done.passed
    first = done.comparisons[0].first_wrong
    assert first is not None
    assert first.index == index
    # The audit stops at the slot that failed: the fifth.
    assert done.comparisons[0].elements == 5 * 31 * 257


def test_a_slot_that_was_never_written_is_found_by_a_sampled_audit(clock: Callable[..., Clock]) -> None:
    sampled = clock(1, sample=1)
    done = sampled.round(CALLS, SECONDS)
    assert done.audited <= 2
    assert not done.passed


@pytest.mark.parametrize(("mode", "code"), [(2, "input_modified"), (3, "outside")], ids=["input", "canary"])
def test_what_is_no_output_must_not_change(clock: Callable[..., Clock], mode: int, code: str) -> None:
    with pytest.raises(CandidateFailure) as caught:
        clock(mode).round(CALLS, SECONDS)
    assert caught.value.verdict is Verdict.WRONG_ANSWER
    assert caught.value.text.code == code


def test_a_failing_call_and_an_endless_one_end_the_round(clock: Callable[..., Clock]) -> None:
    with pytest.raises(CandidateFailure) as caught:
        clock(8).round(CALLS, SECONDS)
    assert caught.value.verdict is Verdict.RUNTIME_ERROR
    with pytest.raises(CandidateFailure) as caught:
        clock(5).round(CALLS, 0.3)
    assert caught.value.verdict is Verdict.TIME_LIMIT


def test_threads_that_compute_for_ever_are_no_crime_while_they_stand_still(
    clock: Callable[..., Clock],
) -> None:
    busy = clock(6)
    for _ in range(5):
        assert busy.round(CALLS, SECONDS).passed


def test_cpu_time_used_behind_the_freezer_is_work_outside_the_clock(clock: Callable[..., Clock]) -> None:
    busy = clock(6)
    assert busy.round(CALLS, SECONDS).passed
    assert busy.freezer is not None
    busy.freezer = LeakyFreezer(busy.freezer)
    with pytest.raises(IntegrityFailure) as caught:  # noqa: PT012
        # The kernel books a running thread's time once a tick; so short a fill may lie between two.
        for _ in range(100):
            busy.round(CALLS, SECONDS)
    evidence = caught.value.evidence
    assert caught.value.verdict is Verdict.WORK_OUTSIDE_THE_CLOCK
    (void,) = busy.voids.values()  # The first such round was only void, and is remembered.
    assert void.measured is not None
    assert void.measured > GROWTH_SECONDS
    assert (evidence.kind, evidence.case) == ("cpu_time", "mode-6")
    assert evidence.measured is not None
    assert evidence.measured > GROWTH_SECONDS


def test_an_idle_candidate_is_not_accused_behind_a_leaky_freezer(clock: Callable[..., Clock]) -> None:
    idle = clock()
    assert idle.freezer is not None
    idle.freezer = LeakyFreezer(idle.freezer)
    for _ in range(5):
        assert idle.round(CALLS, SECONDS).passed


def test_a_candidate_that_cannot_be_frozen(clock: Callable[..., Clock]) -> None:
    stuck = clock()
    assert stuck.freezer is not None
    stuck.freezer = StuckFreezer(stuck.freezer)
    with pytest.raises(IntegrityFailure) as caught:
        stuck.round(CALLS, SECONDS)
    assert caught.value.evidence.kind == "freeze"


def _raise(*_: object) -> Slot:
    raise ZeroDivisionError("the author's own")


def _nothing(params: Params, inputs: Slot) -> Slot:
    return {}


@pytest.mark.parametrize(
    ("broken", "what"),
    [({"fill": _raise}, "fill"), ({"oracle": _raise}, "oracle"), ({"oracle": _nothing}, "oracle")],
)
def test_a_broken_assignment_is_not_the_students_fault(
    clock: Callable[..., Clock], toy: FunctionTask, broken: dict[str, Callable[..., Slot]], what: str
) -> None:
    faulty = clock(task=replace(toy, **broken))  # type: ignore[arg-type]
    with pytest.raises(AssignmentFault) as caught:
        faulty.round(CALLS, SECONDS)
    assert caught.value.what == what
    assert "author's own" in caught.value.detail or "no 'y'" in caught.value.detail


def test_slots_are_drawn_after_the_clock_has_stopped(
    clock: Callable[..., Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled = clock(sample=3)
    audited: list[Sequence[int]] = []
    audit = sampled.ring.audit

    def record(slots: Sequence[int]) -> list[Comparison]:
        audited.append(slots)
        return audit(slots)

    monkeypatch.setattr(sampled.ring, "audit", record)
    for _ in range(6):
        assert sampled.round(CALLS, SECONDS).audited == 3
    assert len({tuple(slots) for slots in audited}) > 1
    assert all(len(set(slots)) == 3 for slots in audited)
