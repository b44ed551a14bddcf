"""One call on every rank at once: messages are carried as they come, and whoever fails is named.

A failure on one rank ends the call on all: the others are told so in answer to their next message. Ranks that
take notice survive, and serve the next case.
"""

import random
import re
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.contract import Text, Verdict
from grader.judge.collective.carrier import Carrier
from grader.judge.collective.rank import Rank
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Answer, Done, Failed, Receiving, Sending
from grader.judge.monitor import TICK_SECONDS
from grader.messages import text
from grader.sandbox.base import SandboxError

GRACE_SECONDS = 2.0
"""For a rank to notice that the call is over."""
_FRAME = re.compile(r'File "[^"]*/submission/([^"]+)", line ([0-9]+) in (\S+)')
_SHOWN = 8
"""Ranks that a message about several of them names."""


class RankFailure(Exception):  # noqa: N818
    """The failure of one rank, or of all together (rank -1)."""

    def __init__(self, rank: int, failure: CandidateFailure) -> None:
        super().__init__(failure.text.en)
        self.rank = rank
        self.failure = failure


@dataclass
class _Seat:
    """One rank during a call."""

    client: Rank
    out: int
    into: int
    """Bytes of the arena at which its two regions begin."""
    identity: str = ""
    waits: Receiving | None = None
    owed: bool = False
    """It waits for a word of the judge."""
    done: bool = False
    where: str = ""
    """The line of its last message."""
    cpu: float = 0.0


@dataclass
class Switchboard:
    """The ranks of one call, seated in order; `regions` are bytes of their arenas (out, into)."""

    ranks: Sequence[Rank]
    regions: tuple[int, int]
    carrier: Carrier
    _seats: list[_Seat] = field(default_factory=list)

    def call(self, calls: int, seconds: float) -> None:
        """So many calls one after the other on every rank, all over within `seconds` and their wall time.

        Raises CandidateFailure; its `alive` says whether every rank can be asked again.
        """
        self._seats = [_Seat(rank, *self.regions) for rank in self.ranks]
        begin = time.monotonic()
        granted = min(rank.exchange.granted(seconds) for rank in self.ranks)
        try:
            self._start(calls, granted)
            while not all(seat.done for seat in self._seats):
                self._step(begin + granted, granted)
        except RankFailure as found:
            # First the others, then the sentence: what they print until then belongs to it.
            alive = self._abort()
            raise self._sentence(found, alive=alive) from found
        finally:
            for rank in self.ranks:
                rank.exchange.spend(time.monotonic() - begin)
        self.carrier.check_received()

    def _start(self, calls: int, seconds: float) -> None:
        """Begin in an order of chance: no program may count on being first."""
        order = list(enumerate(self._seats))
        random.SystemRandom().shuffle(order)
        for number, seat in order:
            try:
                seat.cpu = seat.client.exchange.cpu_seconds()
                seat.identity = seat.client.exchange.begin(
                    {"type": "call", "calls": calls, "seconds": seconds}
                )
            except CandidateFailure as failure:
                raise RankFailure(number, failure) from failure

    def _step(self, deadline: float, seconds: float) -> None:
        """Wait until some rank has something to say, or a tick has passed."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._late(seconds)
        ready = self._wait(min(left, TICK_SECONDS))
        moved = False
        for number, seat in enumerate(self._seats):
            try:
                seat.client.exchange.service(ready)
                while (answer := seat.client.exchange.next(seat.identity)) is not None:
                    moved = True
                    self._obey(number, seat, answer)
            except CandidateFailure as failure:
                raise RankFailure(number, failure) from failure
        if moved:
            self._check_waiting()

    def _wait(self, seconds: float) -> set[int]:
        poll = select.poll()
        for seat in self._seats:
            for descriptor in seat.client.exchange.descriptors:
                poll.register(descriptor, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(max(1.0, seconds * 1000))}

    def _obey(self, number: int, seat: _Seat, answer: Answer) -> None:
        """One message of a rank. Raises CandidateFailure."""
        if seat.done or seat.waits is not None:
            raise self._violation(seat, "a message while it waits for another")
        if isinstance(answer, Done | Failed):
            seat.done = True
            if isinstance(answer, Failed):
                raise seat.client.explained(answer)
        elif isinstance(answer, Sending):
            seat.where, seat.owed = answer.where, True
            self.carrier.check_send(number, answer)
            self.carrier.send(number, answer, seat.client.arena.read(seat.out, answer.bytes))
            seat.owed = False
            seat.client.exchange.put({"type": "taken"})
            self._deliver(answer.to)
        elif isinstance(answer, Receiving):
            seat.where, seat.owed = answer.where, True
            self.carrier.check_receive(number, answer)
            seat.waits = answer
            self._deliver(number)
        else:
            raise self._violation(seat, "an answer to another question")

    def _deliver(self, number: int) -> None:
        """Hand a rank the message that it waits for, if it has come."""
        seat = self._seats[number]
        if seat.waits is None or (data := self.carrier.receive(number, seat.waits.source)) is None:
            return
        seat.waits, seat.owed = None, False
        if data:
            import torch

            target = seat.client.arena.bytes()[seat.into : seat.into + len(data)]
            target.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        try:
            seat.client.exchange.put({"type": "message", "bytes": len(data)})
        except CandidateFailure as failure:
            raise RankFailure(number, failure) from failure

    def _check_waiting(self) -> None:
        """Raise RankFailure where somebody waits who will wait for ever."""
        open_ = [(number, seat) for number, seat in enumerate(self._seats) if not seat.done]
        for number, seat in open_:
            if seat.waits is not None and self._seats[seat.waits.source].done:
                left = text("comm_left", rank=seat.waits.source, other=number, where=seat.waits.where or "?")
                raise RankFailure(
                    seat.waits.source, CandidateFailure(Verdict.RUNTIME_ERROR, left, alive=True)
                )
        if open_ and all(seat.waits is not None for _, seat in open_):
            stuck = text("comm_deadlock", who=_waiters(open_, "rank {0} for rank {1} ({2})", "; "))
            zh = text("comm_deadlock", who=_waiters(open_, "rank {0} 等待 rank {1}（{2}）", "；")).zh
            stuck = stuck.model_copy(update={"zh": zh})
            raise RankFailure(-1, CandidateFailure(Verdict.RUNTIME_ERROR, stuck, alive=True))

    def _late(self, seconds: float) -> RankFailure:
        """The rank that keeps the others waiting when the time is over."""
        number, seat = next(
            (number, seat) for number, seat in enumerate(self._seats) if not seat.done and not seat.owed
        )
        used = seat.client.exchange.cpu_seconds() - seat.cpu
        stack = _stack(seat.client.output()[1])
        at = stack[0] if stack else seat.where or "?"
        late = text("comm_late", limit=f"{seconds:.3g}", cpu=f"{used:.1f}", at=at)
        return RankFailure(number, CandidateFailure(Verdict.TIME_LIMIT, late, detail="\n".join(stack)))

    def _abort(self) -> bool:
        """End the call on every rank; whether all of them can go on. Those that cannot are killed."""
        deadline = time.monotonic() + GRACE_SECONDS
        for seat in self._seats:
            if seat.owed and seat.client.alive:
                self._told(seat)
        while (late := [seat for seat in self._seats if not seat.done and seat.client.alive]) and (
            time.monotonic() < deadline
        ):
            self._wait(TICK_SECONDS)
            for seat in late:
                self._drain(seat)
        for seat in self._seats:
            if not seat.done and seat.client.alive:
                seat.client.kill()
        return all(seat.client.alive for seat in self._seats)

    def _drain(self, seat: _Seat) -> None:
        """Answer what a rank still says; done when its call has ended."""
        try:
            if not seat.identity:
                seat.done = True
                return
            while (answer := seat.client.exchange.next(seat.identity)) is not None:
                if isinstance(answer, Done | Failed):
                    seat.done = True
                else:
                    self._told(seat)
        except (CandidateFailure, SandboxError):
            seat.done = True

    def _told(self, seat: _Seat) -> None:
        seat.waits, seat.owed = None, False
        try:
            seat.client.exchange.put({"type": "abort"})
        except CandidateFailure:
            seat.done = True

    def _sentence(self, found: RankFailure, *, alive: bool) -> CandidateFailure:
        """The failure with its rank in front of it, and where that was where it has not said so itself."""
        failure, detail, last = found.failure, found.failure.detail, ""
        if found.rank >= 0 and not self._seats[found.rank].client.alive and not detail:
            seat = self._seats[found.rank]
            stack = _stack(seat.client.output()[1])
            detail, last = "\n".join(stack), stack[0] if stack else seat.where
        sentence = named(found.rank, failure.text, last)
        return CandidateFailure(failure.verdict, sentence, detail=detail, alive=alive)

    def _violation(self, seat: _Seat, detail: str) -> CandidateFailure:
        return seat.client.exchange.failed(
            CandidateFailure(Verdict.SANDBOX_VIOLATION, text("protocol", detail=detail))
        )


def named(rank: int, reason: Text, last: str = "") -> Text:
    """A sentence about one rank, last seen at a line; about all together where `rank` is -1."""
    if rank < 0:
        return reason
    code = "rank_died" if last else "rank_failed"
    en, zh = (text(code, rank=rank, reason=words, last=last) for words in (reason.en, reason.zh))
    return Text(code=reason.code, en=en.en, zh=zh.zh)


def named_wrong(rank: int, ranks: int, reason: Text) -> Text:
    """A sentence about what one rank has written."""
    en, zh = (text("rank_wrong", rank=rank, ranks=ranks, reason=words) for words in (reason.en, reason.zh))
    return Text(code=reason.code, en=en.en, zh=zh.zh)


def _waiters(seats: Sequence[tuple[int, _Seat]], form: str, join: str) -> str:
    shown = [
        form.format(number, seat.waits.source, seat.waits.where or "?")
        for number, seat in seats[:_SHOWN]
        if seat.waits is not None
    ]
    return join.join([*shown, *(["..."] if len(seats) > _SHOWN else [])])


def _stack(stderr: str) -> list[str]:
    """The submission's frames in what a rank wrote when it died or hung, innermost first."""
    return [f"{match[1]}, line {match[2]}, in {match[3]}" for match in _FRAME.finditer(stderr)]
