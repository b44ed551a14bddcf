"""Questions to a candidate and the answers that fit: each within its deadline, each failure a verdict."""

import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from grader.contract import Text, Verdict
from grader.judge.channel import DONE, GO, NONCE_BYTES, Channel, Pipes, Stalled, violation
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Answer, Done, Ended, Failed, ProtocolError, Ready, decode
from grader.judge.monitor import Monitor
from grader.messages import text
from grader.sandbox.base import Limits, Process, SandboxError

Sentence = tuple[str, str]
"""What was waited for, in English and Chinese, as the subject of a sentence."""
Expected = TypeVar("Expected", bound=Answer)
Result = TypeVar("Result")
_ROUND: Sentence = ("A timed round", "一轮计时")


class Exchange:
    """One candidate's process and channel. `explain` turns what its harness reports into a failure.

    Deadlines are of `time.monotonic()`; all waits together last no longer than the limits' wall time. After a
    CandidateFailure that is not `alive` the process has been ended.
    """

    def __init__(
        self, process: Process, pipes: Pipes, limits: Limits, explain: Callable[[Failed], CandidateFailure]
    ) -> None:
        self.alive = True
        self._process = process
        self._limits = limits
        self._explain = explain
        self._monitor = Monitor(process, limits)
        self._channel = Channel(pipes, self._monitor)
        self._waited = 0.0
        self._allowed = math.inf
        self._cpu_before = 0.0

    def hello(self, seconds: float) -> Ready:
        """The harness's first message. No student code has come in yet: SandboxError for all failures."""
        try:
            answer = decode(self._channel.receive(time.monotonic() + seconds))
        except (CandidateFailure, ProtocolError, Stalled) as error:
            out, err = self._monitor.output()
            self.end()
            raise SandboxError(f"the harness did not start ({error!r}): {out}{err}") from error
        if not isinstance(answer, Ready):
            raise SandboxError(f"the harness started with {answer!r}")
        self._monitor.begin()
        return answer

    def allow(self, seconds: float) -> None:
        """From now on all waits together last no longer than this: the next one ends as a time limit."""
        self._allowed = self._waited + seconds

    def tell(self, message: Mapping[str, Any], deadline: float) -> None:
        """Send a message that needs no answer. Raises SandboxError if the harness does not take it."""
        try:
            self._channel.send(json.dumps(message).encode(), deadline)
        except Stalled:
            raise SandboxError("the harness does not take the files") from None

    def ask(
        self, message: Mapping[str, Any], expected: type[Expected], deadline: float, what: Sentence
    ) -> Expected:
        """One question and its answer. Raises CandidateFailure."""
        identity = secrets.token_hex(16)
        body = json.dumps({**message, "id": identity}).encode()

        def exchange(until: float) -> bytes:
            if self._channel.unread():
                raise violation("before it was asked")
            self._channel.send(body, until)
            answer = self._channel.receive(until)
            self._monitor.service(())  # A limit that was passed in the meantime.
            return answer

        self._cpu_before = self._monitor.cpu_seconds()
        return self._fitting(self._guarded(exchange, deadline, what), identity, expected)

    def go(self, nonce: bytes) -> None:
        """Start an armed round. Never waits: the pipe is empty."""
        if len(nonce) != NONCE_BYTES:
            raise ValueError(f"a nonce of {len(nonce)} bytes; {NONCE_BYTES} are needed")
        deadline = time.monotonic() + 1.0
        self._guarded(lambda until: self._channel.send_raw(GO + nonce, until), deadline, _ROUND)

    def await_done(self, nonce: bytes, deadline: float, spin_seconds: float = 0.0) -> None:
        """The answer of a round, with the same nonce. Raises CandidateFailure for anything else.

        For `spin_seconds` this thread does not sleep: being woken up takes time, and never the same.
        """
        body = self._guarded(
            lambda until: self._channel.spin(spin_seconds) or self._channel.receive(until), deadline, _ROUND
        )
        if body == DONE + nonce:
            return
        if body.startswith(DONE):
            raise self.failed(violation("a wrong nonce"))
        self._fitting(body, None, Done)
        raise self.failed(violation("a message in place of done"))

    def unread(self) -> bool:
        """Whether the candidate has sent anything that nobody asked for."""
        return self._channel.unread()

    def output(self) -> tuple[str, str]:
        """(stdout, stderr) since the last call, cleaned and shortened."""
        return self._monitor.output()

    def reported(self, answer: Failed) -> CandidateFailure:
        """The failure that the harness reports, or the limit that was passed: then that is why it failed."""
        return self.limit_passed() or self.failed(self._explain(answer))

    def limit_passed(self) -> CandidateFailure | None:
        """The limit that was passed, if one was, after ending the process.

        A child that the kernel has killed for memory leaves its parent to tell of a failure, and that may
        come before the next look at the limits.
        """
        try:
            self._monitor.look()
        except CandidateFailure as failure:
            return self.failed(failure)
        return None

    def failed(self, failure: CandidateFailure) -> CandidateFailure:
        """The failure, after ending the process if it does not survive it."""
        if not failure.alive:
            self._monitor.drain()
            self.end()
        return failure

    def end(self) -> None:
        """Kill the process. Raises SandboxError if something of it is left."""
        self.alive = False
        self._process.kill()

    def _fitting(self, body: bytes, identity: str | None, expected: type[Expected]) -> Expected:
        """The answer if it is the expected one to that question, else the failure that it is."""
        try:
            answer = decode(body)
        except ProtocolError as error:
            raise self.failed(violation(str(error))) from None
        if isinstance(answer, Ended):
            raise self.failed(self._monitor.ended_with(answer.status))
        if isinstance(answer, Ready) or (identity is not None and answer.id != identity):
            raise self.failed(violation("an answer to no question"))
        if isinstance(answer, Failed):
            raise self.reported(answer)
        if not isinstance(answer, expected):
            raise self.failed(violation("an answer to another question"))
        return answer

    def _guarded(self, action: Callable[[float], Result], deadline: float, what: Sentence) -> Result:
        """Run a wait until its deadline, or until the wall time of the sandbox is spent."""
        begin = time.monotonic()
        until = min(deadline, begin + min(self._limits.wall_seconds, self._allowed) - self._waited)
        try:
            return action(until)
        except Stalled:
            now = time.monotonic()
            if until < deadline and self._allowed < self._limits.wall_seconds:
                raise self.failed(CandidateFailure(Verdict.TIME_LIMIT, text("waited_for"))) from None
            limit = self._limits.wall_seconds if until < deadline else deadline - begin
            used = self._monitor.cpu_seconds() - self._cpu_before
            sentence = _where_the_time_went(what, limit, now - begin, used)
            raise self.failed(CandidateFailure(Verdict.TIME_LIMIT, sentence)) from None
        except CandidateFailure as failure:
            raise self.failed(failure) from None
        finally:
            self._waited += time.monotonic() - begin


def _where_the_time_went(what: Sentence, limit: float, waited: float, cpu: float) -> Text:
    share = cpu / waited if waited > 0 else 0.0
    if share > 0.7:
        where = ("it was computing", "它一直在计算")
    elif share < 0.1:
        where = ("it was waiting or asleep", "它在等待或休眠")
    else:
        where = ("it was partly computing, partly waiting", "它部分时间在计算，部分时间在等待")
    return text(
        "wall",
        what=what[0],
        what_zh=what[1],
        limit=f"{limit:.3g}",
        waited=f"{waited:.1f}",
        cpu=f"{cpu:.1f}",
        where=where[0],
        where_zh=where[1],
    )
