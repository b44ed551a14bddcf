"""N ranks in one sandbox that talk over loopback: a client of several harnesses and one process.

Each rank has a channel and an arena of its own; nothing of one channel reaches another rank. They are frozen,
limited and killed together. Every name that they meet by is drawn for that meeting, and the sandbox has a
network of its own, so that no run can collide with another.
"""

import hashlib
import os
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from grader.contract import Language, Verdict
from grader.judge.arena import Arena
from grader.judge.channel import NONCE_BYTES, Pipes
from grader.judge.client import BIND_SECONDS, HARNESS, INSIDE, START_CPU_SECONDS, START_SECONDS
from grader.judge.collective.gather import Gathering, overdue
from grader.judge.collective.rank import Rank
from grader.judge.collective.stacks import Stacks
from grader.judge.collective.switchboard import named
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Done, Failed, Ready
from grader.messages import text
from grader.sandbox.base import Backend, Command, Limits, Process

CONTROL, FIRST, EACH = 3, 4, 4
"""Descriptors inside: where stacks are asked for; then commands, answers, arena and stack of each rank."""
CALL_SKEW_SECONDS = 0.02
"""Between the starts of two ranks in a test, at the most: no program may count on a common start."""
ROUND_SKEW_SECONDS = 50e-6
"""The same in a timed round, where it counts as the submission's time."""


class Group:
    """Made by `start`. It loads, is asked, timed and ended as one `Client` is."""

    device_arena = None
    """Its tensors lie in the CPU's memory."""
    remark = ""

    def __init__(self, process: Process, ranks: Sequence[Rank], stacks: Stacks) -> None:
        self.process = process
        self.ranks = tuple(ranks)
        for rank in self.ranks[1:]:
            rank.exchange.share(self.ranks[0].exchange)
        self.entry = ""
        self._size = len(self.ranks)
        """Ranks of the case that runs: the first so many."""
        self._joined = 0
        self._stacks = stacks
        self._files: Mapping[str, bytes] = {}
        self._nonces: dict[int, bytes] = {}
        self._last: Counter[int] = Counter()
        """Rounds in which each rank was the last to answer."""
        self._waiting: list[int] = []
        """Ranks whose `go` has not been sent yet."""

    @classmethod
    def start(
        cls,
        backend: Backend,
        limits: Limits,
        ranks: int,
        arena_bytes: int,
        *,
        cpus: frozenset[int] | None = None,
    ) -> Self:
        """Start so many ranks in a fresh sandbox and return at once. Raises SandboxError.

        The limits hold for all of them together.
        """
        opened: list[tuple[Pipes, Arena]] = []
        control, asks = os.pipe2(os.O_CLOEXEC)
        inside, readers = {CONTROL: control}, []
        try:
            for rank in range(ranks):
                arena = Arena(arena_bytes)
                pipes = Pipes.open()
                opened.append((pipes, arena))
                reader, writer = os.pipe2(os.O_CLOEXEC)
                readers.append(reader)
                given = (pipes.commands_read, pipes.answers_write, arena.descriptor, writer)
                inside |= {FIRST + EACH * rank + at: number for at, number in enumerate(given)}
            process = backend.start(
                Command(
                    argv=[
                        backend.python, "-I", "-B", "-u", f"{INSIDE}/__main__.py", "ranks",
                        Language.PYTHON.value, str(ranks),
                    ],
                    descriptors=inside,
                    environment={
                        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
                    },
                    read_only={INSIDE: HARNESS},
                    cpus=cpus,
                ),
                replace(limits, cpu_seconds=limits.cpu_seconds + START_CPU_SECONDS, network="loopback"),
            )  # fmt: skip
        except BaseException:
            for pipes, arena in opened:
                pipes.close()
                arena.close()
            for descriptor in (asks, *readers):
                os.close(descriptor)
            raise
        finally:
            written = [FIRST + EACH * rank + 3 for rank in range(len(readers))]
            for number in (CONTROL, *(number for number in written if number in inside)):
                os.close(inside[number])
        members = []
        for pipes, arena in opened:
            pipes.close_candidate_ends()
            members.append(Rank(process, pipes, arena, limits, Language.PYTHON))
        return cls(process, members, Stacks(asks, readers))

    @property
    def alive(self) -> bool:
        """Whether every rank can still be asked."""
        return all(rank.alive for rank in self.ranks)

    @property
    def versions(self) -> Ready | None:
        """What runs in the sandbox."""
        return self.ranks[0].versions

    def ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until every rank waits for work. Raises SandboxError."""
        for rank in self.ranks:
            rank.ready(seconds)

    def load(
        self,
        files: Mapping[str, bytes],
        entry: str,
        entry_name: str,
        artifact: bytes | None = None,
        **named_: Any,
    ) -> None:
        """Have the submission loaded on every rank. Raises CandidateFailure."""
        self._files = files
        self.entry = entry
        for rank in self.ranks:
            rank.load(files, entry, entry_name, artifact, **named_)

    def allow(self, seconds: float) -> None:
        """From now on the judge waits for them no longer than this, all waits together."""
        for rank in self.ranks:
            rank.allow(seconds)

    def join(self, size: int) -> None:
        """Make the first `size` ranks a process group; the others are in none. Raises CandidateFailure."""
        self._last.clear()
        self._size = len(self.ranks)
        if self._joined == size:
            self._size = size
            return
        meeting = secrets.token_hex(16)

        def message(rank: int) -> dict[str, Any]:
            members = size if rank < size else 0
            return {"type": "join", "size": members, "meeting": meeting, "seconds": BIND_SECONDS}

        self._ask(message, "opened", BIND_SECONDS)
        self._joined = self._size = size

    def call(self, calls: int, seconds: float) -> None:
        """Untimed calls on as many bound slots, on every rank; they start apart by chance."""
        self._ask(lambda _rank: {"type": "call", "calls": calls}, "called", seconds, CALL_SKEW_SECONDS)

    def arm(self, calls: int, deadline: float) -> None:
        """On the next `go`, have slots 0 .. calls - 1 called once each on every rank."""
        self._ask(lambda _rank: {"type": "arm", "calls": calls}, "armed", deadline - time.monotonic())

    def unread(self) -> bool:
        """Whether any rank has sent what nobody asked for."""
        return any(rank.unread() for rank in self.ranks)

    def go(self, nonce: bytes) -> None:
        """Send the first rank its `go`, and let the others have theirs in `await_done`.

        Each has a nonce of its own, made of this one: none can answer for another.
        """
        members = range(self._size)
        self._nonces = {
            rank: hashlib.blake2b(bytes([rank]), key=nonce, digest_size=NONCE_BYTES).digest()
            for rank in members
        }
        self._waiting = random.SystemRandom().sample(members, len(members))
        self._send_go()

    def await_done(self, nonce: bytes, deadline: float, spin_seconds: float = 0.0) -> None:  # noqa: ARG002
        """Send the other ranks their `go`, a little apart, and wait for the answers of all."""
        while self._waiting:
            time.sleep(random.SystemRandom().uniform(0.0, ROUND_SKEW_SECONDS))
            self._send_go()
        answered: list[int] = []

        def take(rank: int) -> bool:
            done = self.ranks[rank].exchange.done(self._nonces[rank])
            answered.extend([rank] * done)
            return done

        self._gather(take, deadline)
        self._last.update(answered[-1:])

    def summary(self) -> str:
        """Of the rounds so far, which rank kept the others waiting, for staff."""
        counts = ", ".join(f"rank {rank} ({count})" for rank, count in self._last.most_common())
        return f"the last to answer, and in how many rounds: {counts}" if counts else ""

    def output(self) -> tuple[str, str]:
        """What was printed since the last call, by all ranks as it came."""
        return self.ranks[0].output()

    def kill(self) -> None:
        """End everything in the sandbox now; safe from another thread. Raises SandboxError if it cannot."""
        for rank in self.ranks:
            rank.kill()

    def close(self) -> None:
        """End the sandbox and give everything back; safe to call twice."""
        try:
            for rank in self.ranks:
                rank.close()
        finally:
            self._stacks.close()

    def _send_go(self) -> None:
        rank = self._waiting.pop()
        try:
            self.ranks[rank].go(self._nonces[rank])
        except CandidateFailure as failure:
            raise self._failed(rank, failure) from None

    def _ask(
        self, message: Callable[[int], dict[str, Any]], expected: str, seconds: float, skew: float = 0.0
    ) -> None:
        """Ask every rank of the case, in an order of chance, and wait for all answers."""
        identities: dict[int, str] = {}
        for rank in random.SystemRandom().sample(range(self._size), self._size):
            if skew and identities:
                time.sleep(random.SystemRandom().uniform(0.0, skew))
            try:
                identities[rank] = self.ranks[rank].exchange.begin(message(rank))
            except CandidateFailure as failure:
                raise self._failed(rank, failure) from None

        def take(rank: int) -> bool:
            answer = self.ranks[rank].exchange.next(identities[rank], expected)
            if isinstance(answer, Failed):
                raise self.ranks[rank].explained(answer)
            return isinstance(answer, Done)

        self._gather(take, time.monotonic() + seconds)

    def _gather(self, take: Callable[[int], bool], deadline: float) -> None:
        ranks = self.ranks[: self._size]
        begin = time.monotonic()
        cpu = ranks[0].exchange.cpu_seconds()
        granted = min(rank.exchange.granted(deadline - begin) for rank in ranks)
        gathering = Gathering(ranks, take)
        try:
            if gathering.run(begin + granted):
                return
        finally:
            for rank in ranks:
                rank.exchange.spend(time.monotonic() - begin)
        blamed = gathering.blamed()
        if blamed is None and granted < deadline - begin and ranks[0].exchange.allowance_ends:
            failure = CandidateFailure(Verdict.TIME_LIMIT, text("waited_for"))
        elif blamed is None:
            stacks = self._stacks.look(sorted(gathering.open), self._files)
            used = ranks[0].exchange.cpu_seconds() - cpu
            failure = overdue(stacks, len(ranks), granted, used)
        else:
            failure = self._named(*blamed, alive=not gathering.open)
        raise self._over(failure)

    def _failed(self, rank: int, failure: CandidateFailure) -> CandidateFailure:
        return self._over(self._named(rank, failure, alive=False))

    def _named(self, rank: int, failure: CandidateFailure, *, alive: bool) -> CandidateFailure:
        stack = self._stacks.last(rank, self._files) if rank >= 0 and not failure.alive else None
        last = stack.at if stack is not None and stack.frames else ""
        detail = failure.detail or ("\n".join(stack.frames) if stack is not None else "")
        sentence = named(rank, failure.text, last)
        return CandidateFailure(failure.verdict, sentence, detail=detail, alive=alive and failure.alive)

    def _over(self, failure: CandidateFailure) -> CandidateFailure:
        """After a failure nothing is left of the process group; who does not survive it is ended."""
        self._joined = 0
        if not failure.alive:
            for rank in self.ranks:
                rank.exchange.failed(failure)
        return failure
