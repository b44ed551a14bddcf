"""One rank alone in a sandbox: a client that, in the middle of a call, asks for messages to be carried."""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from grader.contract import Language
from grader.judge.arena import Arena
from grader.judge.channel import DONE, Pipes, violation
from grader.judge.client import (
    ANSWERS,
    ARENA,
    BIND_SECONDS,
    COMMANDS,
    HARNESS,
    INSIDE,
    START_CPU_SECONDS,
    Client,
)
from grader.judge.exchange import Exchange, Sentence
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Answer, Done, Ended, ProtocolError, Ready, decode
from grader.sandbox.base import Backend, Command, Limits

_JOINING: Sentence = ("Joining the other ranks", "加入其他 rank")
_SEND_SECONDS = 5.0
"""For a command to go into the pipe of a rank that reads nothing but commands."""


class RankExchange(Exchange):
    """An exchange in which a question may be followed by several messages before its answer."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What to poll: the answers first, then output and end of the process."""
        return (self._channel.pipes.answers_read, *self._monitor.descriptors())

    def begin(self, message: Mapping[str, Any]) -> str:
        """Ask and do not wait; the id that every message of this call must carry. Raises CandidateFailure."""
        if self._channel.unread():
            raise self.failed(violation("before it was asked"))
        identity = secrets.token_hex(16)
        self.put({**message, "id": identity})
        return identity

    def put(self, message: Mapping[str, Any]) -> None:
        """Send a command. Raises CandidateFailure where the process has ended."""
        try:
            self._channel.send(json.dumps(message).encode(), time.monotonic() + _SEND_SECONDS)
        except CandidateFailure as failure:
            raise self.failed(failure) from None

    def next(self, identity: str, expected: str = "called") -> Answer | None:
        """The next message of a call if it is there in full; `expected` ends it. Raises CandidateFailure."""
        try:
            body = self._channel.spin(0.0)
            if body is None:
                return None
            answer = decode(body)
        except ProtocolError as error:
            raise self.failed(violation(str(error))) from None
        except CandidateFailure as failure:
            raise self.failed(failure) from None
        if isinstance(answer, Ended):
            raise self.failed(self._monitor.ended_with(answer.status))
        if isinstance(answer, Ready) or getattr(answer, "id", None) != identity:
            raise self.failed(violation("an answer to no question"))
        if not isinstance(answer, Done) or answer.type == expected:
            return answer
        raise self.failed(violation("an answer to another question"))

    def done(self, nonce: bytes) -> bool:
        """Whether the answer of a round is there, with this nonce. Raises CandidateFailure for any other."""
        try:
            body = self._channel.spin(0.0)
        except CandidateFailure as failure:
            raise self.failed(failure) from None
        if body is None:
            return False
        if body == DONE + nonce:
            return True
        if body.startswith(DONE):
            raise self.failed(violation("a wrong nonce"))
        self._fitting(body, None, Done)
        raise self.failed(violation("a message in place of done"))

    def share(self, other: "RankExchange") -> None:
        """Both are of one process: what it prints, uses and how it ends is watched by the other's monitor."""
        self._monitor = self._channel.monitor = other._monitor  # noqa: SLF001 (one of its own kind)

    def service(self, ready: set[int]) -> None:
        """See to output, limits and end of the process. Raises CandidateFailure."""
        try:
            if self._monitor.service(ready) and self._channel.pipes.answers_read not in ready:
                raise self._monitor.ended()
        except CandidateFailure as failure:
            raise self.failed(failure) from None

    def granted(self, seconds: float) -> float:
        """Of so many seconds those that the sandbox's wall time, and `allow`, still leave."""
        return min(seconds, min(self._limits.wall_seconds, self._allowed) - self._waited)

    @property
    def allowance_ends(self) -> bool:
        """Whether of the two it is `allow` that leaves less."""
        return self._allowed < self._limits.wall_seconds

    def spend(self, seconds: float) -> None:
        """Count a wait of the judge towards the wall time."""
        self._waited += seconds

    def cpu_seconds(self) -> float:
        """Processor time since it was ready."""
        return self._monitor.cpu_seconds()


class Rank(Client):
    """Made by `start`. Only what a collective adds to a client is here."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.exchange = RankExchange(self.process, self._pipes, self.limits, self._explain)
        self._exchange = self.exchange

    @classmethod
    def launch(cls, backend: Backend, limits: Limits, arena_bytes: int) -> Self:
        """Start a rank's harness in a fresh sandbox and return at once. Raises SandboxError."""
        arena = Arena(arena_bytes)
        pipes = Pipes.open()
        try:
            process = backend.start(
                Command(
                    argv=[backend.python, "-I", "-B", "-u", f"{INSIDE}/__main__.py", "rank"],
                    descriptors={
                        COMMANDS: pipes.commands_read,
                        ANSWERS: pipes.answers_write,
                        ARENA: arena.descriptor,
                    },
                    environment={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                    read_only={INSIDE: HARNESS},
                ),
                replace(limits, cpu_seconds=limits.cpu_seconds + START_CPU_SECONDS),
            )
        except BaseException:
            pipes.close()
            arena.close()
            raise
        pipes.close_candidate_ends()
        return cls(process, pipes, arena, limits, Language.PYTHON)

    def join(
        self,
        *,
        rank: int,
        members: Sequence[int],
        regions: tuple[int, int],
        size: int,
        alpha_ns: float,
        byte_ns: float,
    ) -> None:
        """Tell it its group and its rank in it, and where in the arena its messages lie (out, in)."""
        message = {
            "type": "join",
            "rank": rank,
            "members": list(members),
            "out": regions[0],
            "into": regions[1],
            "bytes": size,
            "alpha_ns": alpha_ns,
            "byte_ns": byte_ns,
        }
        self.exchange.ask(message, Done, time.monotonic() + BIND_SECONDS, _JOINING)

    def explained(self, answer: Any) -> CandidateFailure:
        """A failure that the rank has reported."""
        return self.exchange.reported(answer)
