"""One timed round on a device: the clock stops when the judge's own gather of the outputs has ended.

The candidate's processes are frozen during the fill; what it has queued on the device is held off by the
watchdog and shows in its gap, in the time that the fill took, or in outputs that have lost their poison. They
are thawed a moment before the clock starts, while the watchdog still keeps every SM: to wake them takes a
third of a millisecond, and never the same.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.contract import Evidence, Verdict
from grader.judge.channel import NONCE_BYTES
from grader.judge.client import Client
from grader.judge.clock import IntegrityFailure, Round, Sequencer, now
from grader.judge.gpu.duty import Duty
from grader.judge.gpu.ring import DeviceRing
from grader.judge.gpu.watchdog import GAP_CYCLES
from grader.messages import text
from grader.sandbox.base import Freezer

FILL_SLOWER = 1.8
"""A fill that takes so many times what it takes alone shared the device (a resident kernel: 2.4 times)."""
FILL_SLACK_SECONDS = 0.002
SPIN_SECONDS = 0.2
"""Longer than most rounds. What the candidate prints in the meantime waits."""
GROWTH_SECONDS = 0.02
"""CPU time that a frozen candidate may seem to use: graphs are taken down in the kernel, which is booked
late. With a device that the watchdog keeps it can do nothing in so little time."""


@dataclass
class DeviceClock(Sequencer):
    """Times rounds of one candidate over one ring on a device; see `judge.clock.Clock`.

    `fill_rate`: bytes/s of this case's fill with nobody else on the device, 0 where it was not measured.
    `observe` is called after each round's work, while the device still has the state it worked in.
    """

    client: Client
    freezer: Freezer | None
    ring: DeviceRing
    sample: int | None = None
    case: str = ""
    steps: dict[str, float] = field(default_factory=dict)
    rounds: int = 0
    voids: dict[int, Evidence] = field(default_factory=dict)
    arm_seconds: float = 60.0
    """For capturing the calls of a round."""
    fill_rate: float = 0.0
    duty: Duty | None = None
    observe: Callable[[], None] = lambda: None
    largest_gap: int = 0
    slowest_fill: float = 0.0
    """Largest ratio of a fill's time to that expected."""
    armed: int = 0
    """Calls of the last round that was armed: only another number makes a candidate capture anew."""

    def round(self, calls: int, limit_seconds: float) -> Round:
        """Run one round of `calls` calls, each on a slot of its own with fresh values.

        Raises CandidateFailure (IntegrityFailure with evidence), AssignmentFault and CudaError. The candidate
        is left running, waiting for its next command; after an exception it may be left frozen.
        """
        if self.duty is not None:
            with self.step("rest"):
                self.duty.rest()
        seconds = self._sealed(calls, limit_seconds, self.duty)
        if self.duty is not None:
            self.duty.ended(seconds + self.ring.fill_seconds())
        booked = self.freeze()
        self.observe()
        with self.step("audit"):
            self._check_device(calls)
            self.ring.check_intact(calls)
            audited, comparisons = self.ring.audit_round(calls, self.sample)
            self._check_late()  # What was queued may have waited for the audit.
        self.check_still(booked, "during the audit", GROWTH_SECONDS)
        if self.freezer is not None:
            self.freezer.thaw()
        return Round(calls, seconds, audited, tuple(comparisons), self.void)

    def single(self, limit_seconds: float) -> float:
        """Seconds of a sealed round of one call that nobody audits; raises as `round`."""
        seconds = self._sealed(1, limit_seconds, None)
        if self.freezer is not None:
            self.stop(self.freezer)
        self._check_device(1)
        if self.freezer is not None:
            self.freezer.thaw()
        return seconds

    def _sealed(self, calls: int, limit_seconds: float, duty: Duty | None) -> float:
        """Fill, watchdog, `go`, `done`, gather: the seconds from `go` to the end of the gather.

        The candidate is left running; its fill and outputs have not been looked at.
        """
        ring = self.ring
        self.rounds += 1
        with self.step("arm"):
            self._arm(calls)
        booked = self.freeze()
        with self.step("fill"):
            ring.prepare(calls)
            if duty is not None:
                duty.burst()
            ring.queue()
            assert ring.watchdog is not None
            ring.watchdog.await_start(limit_seconds)
        try:
            self.check_still(booked, "between fill and go", GROWTH_SECONDS)
            if self.client.unread():
                raise self.early()
            if self.freezer is not None:
                self.freezer.thaw()
            ring.watchdog.dwell()
            with self.step("run"):
                return self._time(limit_seconds)
        finally:
            ring.watchdog.stop()

    def _arm(self, calls: int) -> None:
        """Have the candidate ready for a round.

        It captures the calls when their number changes, and then makes all of them once: on values as good as
        those of a round, which are thrown away. What lay in the slots before may be no index and no length.
        """
        if calls != self.armed:
            self.ring.provide(calls)
        self.client.arm(calls, time.monotonic() + self.arm_seconds)
        self.armed = calls

    def summary(self) -> str:
        """For staff: how near the device's witnesses came to their limits."""
        return (
            f"largest gap {self.largest_gap} cycles, slowest fill {self.slowest_fill:.2f} times the expected"
        )

    def _time(self, limit_seconds: float) -> float:
        nonce = secrets.token_bytes(NONCE_BYTES)
        watchdog = self.ring.watchdog
        assert watchdog is not None
        deadline = time.monotonic() + limit_seconds
        begin = now()
        watchdog.stop()
        self.client.go(nonce)
        self.client.await_done(nonce, deadline, SPIN_SECONDS)
        self.ring.gather()
        return (now() - begin) * 1e-9

    def _check_device(self, calls: int) -> None:
        ring = self.ring
        assert ring.watchdog is not None
        gap = ring.watchdog.gap()
        self.largest_gap = max(self.largest_gap, gap)
        if gap > GAP_CYCLES:
            lost = self._evidence("watchdog_gap", gap, GAP_CYCLES, "cycles", "the watchdog lost the device")
            self.void_round(lost)
        if self.fill_rate > 0:
            expected = ring.filled_bytes(calls) / self.fill_rate
            taken = ring.fill_seconds()
            if expected > FILL_SLACK_SECONDS:
                self.slowest_fill = max(self.slowest_fill, taken / expected)
            limit = FILL_SLOWER * expected + FILL_SLACK_SECONDS
            if taken > limit:
                raise self._outside("fill_time", taken, limit, "s", "other work ran beside the fill")
        if ring.touched_early():
            raise self._outside("poison", 1, 0, "", "an output had lost its poison before go")
        self._check_late()

    def _check_late(self) -> None:
        late = self.ring.changed_late()
        if late is not None:
            raise self._outside(
                "late_write", late, 0, "slot", "an output changed after the clock had stopped"
            )

    def _outside(self, kind: str, measured: float, limit: float, unit: str, what: str) -> IntegrityFailure:
        evidence = self._evidence(kind, measured, limit, unit, what)
        return IntegrityFailure(Verdict.WORK_OUTSIDE_THE_CLOCK, text("outside_clock"), evidence)

    def _evidence(self, kind: str, measured: float, limit: float, unit: str, what: str) -> Evidence:
        return Evidence(
            kind=kind,
            case=self.case,
            round=self.rounds,
            measured=measured,
            limit=limit,
            unit=unit,
            text=what,
        )
