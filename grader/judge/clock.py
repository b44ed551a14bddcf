"""One timed round: the clock starts just before `go` and stops when the candidate is confirmed frozen again.

Nothing of the candidate runs between the fill and `go`, nor while its work is audited: the kernel's freezer
holds all of its processes, and the CPU time they use is read at both ends of each such stillness. `done` is
only a hint that freezing is worth while.
"""

import gc
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Protocol

from grader.contract import Evidence, Text, Verdict
from grader.judge import cores, yardstick
from grader.judge.audit import Comparison
from grader.judge.cache import Evictor
from grader.judge.channel import NONCE_BYTES
from grader.judge.duty import Duty
from grader.judge.failure import CandidateFailure
from grader.judge.pool import CorePool
from grader.messages import text
from grader.sandbox.base import Freezer, FreezeTimeoutError

SETTLE_SECONDS = 0.001
"""Between the confirmed freeze and the first look at CPU time: without it honest rounds are accused."""
SETTLE_MOST_SECONDS = 1.0
"""The kernel calls a group frozen when its threads have only to leave their CPUs. On a busy machine some
wait in line for that; what it then costs, interrupts included, is booked to them."""
GROWTH_SECONDS = 0.0002
"""CPU time that a frozen candidate may seem to use: what the kernel books late."""


class IntegrityFailure(CandidateFailure):
    """A finding that goes to staff, with what was measured."""

    def __init__(self, verdict: Verdict, sentence: Text, evidence: Evidence, *, alive: bool = False) -> None:
        super().__init__(verdict, sentence, detail=evidence.text, alive=alive)
        self.evidence = evidence


@dataclass(frozen=True)
class Round:
    """A finished round: `seconds` from `go` to the confirmed freeze, and what the audit found."""

    calls: int
    seconds: float
    audited: int
    comparisons: tuple[Comparison, ...]
    void: bool = False
    """The candidate seemed to use CPU time while frozen, for the first time: the round does not count."""
    yardstick: float = 0.0
    """Seconds of the slower of two readings of the judge's own memory around the round, 0 where there is none
    (see `judge.yardstick`)."""

    @property
    def passed(self) -> bool:
        """All audited outputs are right."""
        return all(comparison.passed for comparison in self.comparisons)


class Armed(Protocol):
    """What is timed: one candidate, or several ranks of it (see `judge.client`, `judge.collective.group`)."""

    def arm(self, calls: int, deadline: float) -> None:
        """Have so many calls made on the next `go`."""
        ...

    def unread(self) -> bool:
        """Whether anything was sent that nobody asked for."""
        ...

    def go(self, nonce: bytes) -> None:
        """Begin."""
        ...

    def await_done(self, nonce: bytes, deadline: float, spin_seconds: float = 0.0) -> None:
        """Wait until all is done."""
        ...


class Slots(Protocol):
    """Where its calls read and write (see `judge.ring`, `judge.collective.ring`)."""

    pool: CorePool

    def fill(self, count: int) -> None:
        """Give so many slots fresh inputs."""
        ...

    def publish(self, count: int) -> None:
        """Hand them to the candidate."""
        ...

    def check_intact(self, count: int) -> None:
        """Raise CandidateFailure where anything else was written than outputs."""
        ...

    def audit(self, indices: Sequence[int]) -> list[Comparison]:
        """Compare these slots with the oracle."""
        ...

    def unwritten(self, count: int) -> list[int]:
        """Slots that look untouched."""
        ...

    def close(self) -> None:
        """Give its memory back."""
        ...


class Sequencer:
    """What the clocks of all machines share: stillness, its evidence, and where the time goes."""

    client: Armed
    freezer: Freezer | None
    case: str
    steps: dict[str, float]
    rounds: int
    voids: dict[int, Evidence]
    """Rounds that do not count, each with what was seen; two are one too many."""

    def freeze(self) -> float:
        """Freeze the candidate; its CPU time once all of it is booked. Raises IntegrityFailure."""
        if self.freezer is None:
            return 0.0
        self.stop(self.freezer)
        return _settled(self.freezer)

    def stop(self, freezer: Freezer) -> None:
        """Freeze, without waiting for anything to be booked. Raises IntegrityFailure."""
        try:
            freezer.freeze()
        except FreezeTimeoutError as error:
            raise IntegrityFailure(
                Verdict.WORK_OUTSIDE_THE_CLOCK,
                text("outside_clock"),
                Evidence(kind="freeze", case=self.case, round=self.rounds, text=str(error)[:4096]),
            ) from error

    def check_still(self, booked: float, when: str, limit: float = GROWTH_SECONDS) -> None:
        """Void the round if the frozen candidate has used CPU time since `freeze`.

        Raises IntegrityFailure the second time in a case: a void round gains nobody anything, and such
        trouble of the machine's own is rare.
        """
        if self.freezer is None:
            return
        growth = self.freezer.cpu_seconds() - booked
        if growth <= limit:
            return
        self.void_round(
            Evidence(
                kind="cpu_time",
                case=self.case,
                round=self.rounds,
                measured=growth,
                limit=limit,
                unit="s",
                text=f"CPU time used {when}, while frozen",
            )
        )

    def void_round(self, evidence: Evidence) -> None:
        """Do not count the round that runs: what was seen can, rarely, be the machine's own doing.

        Raises IntegrityFailure the second time in a case.
        """
        if self.voids and not self.void:
            raise IntegrityFailure(Verdict.WORK_OUTSIDE_THE_CLOCK, text("outside_clock"), evidence)
        self.voids.setdefault(self.rounds, evidence)

    @property
    def void(self) -> bool:
        """Whether the round that has just run does not count."""
        return self.rounds in self.voids

    def early(self) -> IntegrityFailure:
        """The failure of a candidate that has answered before `go`."""
        return IntegrityFailure(
            Verdict.WORK_OUTSIDE_THE_CLOCK,
            text("answered_early"),
            Evidence(
                kind="unread", case=self.case, round=self.rounds, text="bytes lay in the channel before go"
            ),
        )

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the seconds of this step of the session."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.steps[name] = self.steps.get(name, 0.0) + time.monotonic() - begin


@dataclass
class Clock(Sequencer):
    """Times rounds of one candidate over one ring.

    `freezer`: the client's; None where this machine has none: rounds then run without stillness, and are
    unranked. `sample`: slots to audit in a round; None audits all. `case` names the case in evidence.
    """

    client: Armed
    freezer: Freezer | None
    ring: Slots
    evictor: Evictor
    sample: int | None = None
    case: str = ""
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds spent so far by step (arm, fill, evict, run, yardstick, audit)."""
    rounds: int = 0
    voids: dict[int, Evidence] = field(default_factory=dict)
    duty: Duty | None = None

    def round(self, calls: int, limit_seconds: float) -> Round:
        """Run one round of `calls` calls, each on a slot of its own with fresh values.

        Raises CandidateFailure (IntegrityFailure with evidence) and AssignmentFault. The candidate is left
        running, waiting for its next command; after an exception it may be left frozen, to be killed.
        """
        self.rounds += 1
        if self.duty is not None:
            with self.step("rest"):
                self.duty.rest()
        with self.step("arm"):
            self.client.arm(calls, time.monotonic() + limit_seconds)
        booked = self.freeze()
        with self.step("fill"):
            if self.duty is not None:
                self.duty.burst(self.ring.pool)
            self.ring.fill(calls)
            self.ring.publish(calls)
        with self.step("yardstick"):
            reading = yardstick.read(self.ring.pool, self.evictor)
        with self.step("evict"):
            self.ring.pool.everywhere(self.evictor.stream)  # Each core has written a part of the slots.
        self.check_still(booked, "between fill and go")
        if self.client.unread():
            raise self.early()
        with self.step("run"):
            seconds, booked = self._time(limit_seconds)
        if self.freezer is not None:
            with self.step("yardstick"):
                reading = max(reading, yardstick.read(self.ring.pool, self.evictor))
        with self.step("audit"):
            self.ring.check_intact(calls)
            slots = self._draw(calls)
            comparisons = self.ring.audit(slots)
        self.check_still(booked, "during the audit")
        if self.duty is not None:
            self.duty.ended()
        if self.freezer is not None:
            self.freezer.thaw()
        return Round(calls, seconds, len(slots), tuple(comparisons), self.void, reading)

    def _time(self, limit_seconds: float) -> tuple[float, float]:
        nonce = secrets.token_bytes(NONCE_BYTES)
        freezer = self.freezer
        deadline = time.monotonic() + limit_seconds
        begin = now()
        self.client.go(nonce)
        if freezer is not None:
            freezer.thaw()
        self.client.await_done(nonce, deadline)
        if freezer is None:
            return (now() - begin) * 1e-9, 0.0
        self.stop(freezer)
        end = now()
        return (end - begin) * 1e-9, _settled(freezer)

    def _draw(self, calls: int) -> Sequence[int]:
        """Slots to audit, drawn now that the clock has stopped; what looks unwritten comes first."""
        if self.sample is None or self.sample >= calls:
            return range(calls)
        drawn = SystemRandom().sample(range(calls), self.sample)
        return list(dict.fromkeys([*self.ring.unwritten(calls), *drawn]))


def now() -> int:
    """Nanoseconds of the clock that no daemon adjusts."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _settled(freezer: Freezer) -> float:
    """CPU time of a group that has just been frozen, once the kernel has booked all of it."""
    time.sleep(SETTLE_SECONDS)
    deadline = time.monotonic() + SETTLE_MOST_SECONDS
    while freezer.runnable() and time.monotonic() < deadline:
        time.sleep(SETTLE_SECONDS)
    return freezer.cpu_seconds()


@contextmanager
def quiet() -> Iterator[None]:
    """The judge on its own core, with one thread and no garbage collection between two looks at the clock."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        with cores.pinned(cores.choose().judge):
            yield
    finally:
        if enabled:
            gc.enable()
