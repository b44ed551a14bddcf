"""From the warm-up call to enough round times: how many calls a round has, and when its times count.

The number of calls comes from the bound, not from the candidate: n calls at the physical ceiling last at
least `round_seconds`, so that no candidate can make a round short, where noise and the constant weigh more. A
slow one gets fewer calls; if it then turns fast, its rounds so far are void and it starts again with more.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf, isfinite
from typing import Protocol

from grader.contract import Evidence, Text, Verdict
from grader.judge.audit import Comparison
from grader.judge.clock import IntegrityFailure, Round
from grader.judge.interval import Decision, Rule, of_median
from grader.messages import text
from grader.sol import Bound

ROUND_SECONDS = 0.010
PATIENCE = 1.25
"""So many times the rule's seconds may pass where too few rounds found the machine quiet."""
AIM = 1.5
"""What a slow candidate's round should last, in times of the least: its noise must not carry it below."""


class Timer(Protocol):
    """A clock for rounds of one case (see `judge.clock` and `judge.gpu.clock`)."""

    case: str
    rounds: int

    def round(self, calls: int, limit_seconds: float) -> Round:
        """One round of so many calls."""
        ...


@dataclass
class Rounds:
    """Runs the rounds of one case; `most` is the number of calls that the bound asks for.

    `overhead` is c in seconds. All that a candidate does wrong is raised as IntegrityFailure; what was
    found until then stays in the fields.
    """

    clock: Timer
    most: int
    rule: Rule
    overhead: float
    limit_seconds: float
    progress: Callable[[int, int], None]
    round_seconds: float = ROUND_SECONDS
    quiet_seconds: float = inf
    """A round counts only if the judge's own readings around it took no longer (see `judge.yardstick`)."""
    seconds: list[float] = field(default_factory=list)
    """Seconds of a call, one entry for each round that counts."""
    readings: list[float] = field(default_factory=list)
    """The judge's own readings, one entry for each round of the measurement, the disturbed ones included."""
    disturbed: int = 0
    """Rounds of the measurement that did not count because the machine was slower than when it is quiet."""
    calls: int = 1
    audited: int = 0
    errors: tuple[Comparison, ...] = ()

    def measure(self) -> Decision:
        """Rounds until the rule is content: ENOUGH or UNSTABLE.

        Where all rounds there may be were not enough, and took less than half of the time there is, they are
        measured once more.
        """
        self.calls = self._enough_calls(self._round(1))
        begin = time.monotonic()
        decision = self._attempt(begin)
        if decision is Decision.UNSTABLE and time.monotonic() - begin < self.rule.seconds / 2:
            decision = self._attempt(begin)
        return decision

    def once(self) -> None:
        """A single round over the whole ring, audited and not timed."""
        self.calls = self.most
        self._round(self.most)

    def single(self) -> float:
        """Seconds of a round of one call, the constant included; audited like any other."""
        return self._round(1).seconds

    def check_light(self, ceiling: Bound) -> None:
        """Raise IntegrityFailure if a call took less than the bound at the physical ceiling.

        A measurement that the machine disturbed too often has no median, and accuses nobody.
        """
        if len(self.seconds) < self.rule.min_rounds:
            return
        median = of_median(self.seconds).median
        if median < ceiling.seconds:
            raise self._too_fast(
                "below_ceiling_bound",
                median,
                ceiling.seconds,
                f"bound by {ceiling.by} at the physical ceiling",
            )

    def _attempt(self, begin: float) -> Decision:
        """Rounds until a decision; from the start, with a larger `calls`, after one too short to count."""
        self.seconds, self.readings, self.disturbed = [], [], 0
        self._round(self.calls)  # Settles caches, page tables and clocks; audited, but not counted.
        while True:
            done = self._round(self.calls)
            if done.seconds < self.round_seconds and self.calls < self.most:
                self.calls = self._enough_calls(done)
                return self._attempt(begin)
            elapsed = time.monotonic() - begin
            self.readings.append(done.yardstick)
            if done.yardstick > self.quiet_seconds:
                self.disturbed += 1
                if elapsed >= PATIENCE * self.rule.seconds:
                    return Decision.UNSTABLE
                continue
            self.seconds.append(self._per_call(done))
            self.progress(len(self.seconds), self.rule.max_rounds)
            decision = self.rule.decide(self.seconds, elapsed)
            if decision is not Decision.MORE:
                return decision

    def _enough_calls(self, done: Round) -> int:
        """Calls for a round of AIM times the least time; at least twice as many as were too few."""
        call = max(done.seconds - self.overhead, 1e-9) / done.calls
        calls = max(1, ceil(AIM * self.round_seconds / call))
        if done.seconds < self.round_seconds:
            calls = max(calls, 2 * done.calls)
        return min(calls, self.most)

    def _round(self, calls: int) -> Round:
        done = self.clock.round(calls, self.limit_seconds)
        self.audited += done.audited
        if self.errors:
            self.errors = tuple(a.join(b) for a, b in zip(self.errors, done.comparisons, strict=True))
        else:
            self.errors = done.comparisons
        if not done.passed:
            raise self._failed_audit(done)
        return self._round(calls) if done.void else done  # A second void round is a verdict.

    def _failed_audit(self, done: Round) -> IntegrityFailure:
        """Wrong in a timed round: with the tests passed, that may be work left out, so staff see it."""
        failed = next(comparison for comparison in done.comparisons if not comparison.passed)
        evidence = Evidence(
            kind="failed_audit",
            case=self.clock.case,
            round=self.clock.rounds,
            measured=failed.worst_row if isfinite(failed.worst_row) else None,
            limit=failed.tolerance.worst_row,
            text=f"{failed.output}: {failed.wrong_elements} of {failed.elements} audited elements wrong, "
            f"{failed.unwritten} unwritten",
        )
        return IntegrityFailure(Verdict.WRONG_ANSWER, _wrong(failed), evidence, alive=True)

    def _per_call(self, done: Round) -> float:
        seconds = (done.seconds - self.overhead) / done.calls
        if seconds <= 0:
            raise self._too_fast(
                "below_overhead", done.seconds, self.overhead, "a round took less than the fastest empty one"
            )
        return seconds

    def _too_fast(self, kind: str, measured: float, limit: float, detail: str) -> IntegrityFailure:
        evidence = Evidence(
            kind=kind,
            case=self.clock.case,
            round=self.clock.rounds,
            measured=measured,
            limit=limit,
            unit="s",
            text=detail,
        )
        return IntegrityFailure(Verdict.FASTER_THAN_LIGHT, text("faster_than_light"), evidence)


def _wrong(failed: Comparison) -> Text:
    first = failed.first_wrong
    assert first is not None
    return text(
        "wrong_timed",
        output=first.output,
        index=", ".join(map(str, first.index)),
        expected=first.expected,
        found=first.found,
    )
