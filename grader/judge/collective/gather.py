"""One question to all ranks of a group at once: their answers, and who is to blame where one fails.

A rank that fails takes the others with it, since they wait for it. So after the first failure the others are
heard for a moment, and the one that did not merely lose its partner is named.
"""

import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.contract import Verdict
from grader.judge.collective.rank import Rank
from grader.judge.collective.stacks import Stack
from grader.judge.collective.switchboard import named
from grader.judge.failure import CandidateFailure
from grader.judge.monitor import TICK_SECONDS
from grader.messages import text

GRACE_SECONDS = 2.0
"""For the other ranks to say what they have to, once one has failed."""
ALL = -1
"""In place of a rank: the sandbox as a whole."""


@dataclass
class Gathering:
    """`take(rank)` is whether that rank has answered; it raises CandidateFailure where it failed."""

    ranks: Sequence[Rank]
    take: Callable[[int], bool]
    open: set[int] = field(default_factory=set)
    """Ranks that have not answered."""
    failures: dict[int, CandidateFailure] = field(default_factory=dict)
    """By rank, in the order in which they came."""

    def run(self, deadline: float) -> bool:
        """Wait until every rank has answered, or failed, or the time is over; whether all is well."""
        self.open = set(range(len(self.ranks)))
        until = deadline
        while self.open and (left := until - time.monotonic()) > 0:
            self._step(self._wait(min(left, TICK_SECONDS)))
            if self.failures:
                until = min(until, time.monotonic() + GRACE_SECONDS)
            if any(not failure.alive for failure in self.failures.values()):
                break  # Its sandbox has been ended, and the others with it.
        return not self.open and not self.failures

    def blamed(self) -> tuple[int, CandidateFailure] | None:
        """The rank that failed first of itself, None where none has."""
        if not self.failures:
            return None
        found = list(self.failures.items())
        dead = [one for one in found if not one[1].alive]
        own = [one for one in found if one[1].text.code != "aborted"]
        return (dead or own or found)[0]

    def _step(self, ready: set[int]) -> None:
        answered = False
        for number in sorted(self.open):
            if self.ranks[number].exchange.descriptors[0] not in ready:
                continue
            answered = True
            try:
                if self.take(number):
                    self.open.discard(number)
            except CandidateFailure as failure:
                self.open.discard(number)
                self.failures[number] = failure
        if not answered:  # Between an answer and the clock nothing else is looked at.
            self._service(ready)

    def _service(self, ready: set[int]) -> None:
        try:
            self.ranks[0].exchange.service(ready)
        except CandidateFailure as failure:
            self.failures.setdefault(ALL, failure)

    def _wait(self, seconds: float) -> set[int]:
        poll = select.poll()
        for number in self.open:
            for descriptor in self.ranks[number].exchange.descriptors:
                poll.register(descriptor, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(max(1.0, seconds * 1000))}


def overdue(stacks: Mapping[int, Stack], ranks: int, seconds: float, cpu: float) -> CandidateFailure:
    """Who keeps whom waiting when the time is over; `stacks`: of the ranks that have not answered."""
    busy = {rank: stack for rank, stack in stacks.items() if not stack.waits}
    detail = "\n".join(f"rank {rank}: {frame}" for rank, stack in stacks.items() for frame in stack.frames)
    if busy:
        rank, stack = next(iter(busy.items()))
        late = text("comm_late", limit=f"{seconds:.3g}", cpu=f"{cpu:.1f}", at=stack.at)
        return CandidateFailure(Verdict.TIME_LIMIT, named(rank, late), detail=detail)
    who = "; ".join(f"rank {rank} ({stack.at})" for rank, stack in stacks.items())
    returned = [rank for rank in range(ranks) if rank not in stacks]
    if returned:
        left = text("ranks_left", left=", ".join(map(str, returned)), who=who, limit=f"{seconds:.3g}")
        return CandidateFailure(Verdict.RUNTIME_ERROR, left, detail=detail)
    stuck = text("ranks_stuck", who=who, limit=f"{seconds:.3g}")
    return CandidateFailure(Verdict.RUNTIME_ERROR, stuck, detail=detail)
