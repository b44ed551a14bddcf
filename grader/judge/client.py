"""One sandboxed candidate as the judge sees it: a process, a channel, an arena.

Every method that waits takes a deadline (of `time.monotonic()`) and raises CandidateFailure when the
candidate fails, and SandboxError when the machine does. After a failure whose `alive` is false only `output`
and `close` remain.
"""

import base64
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from grader.contract import Language, Text, Verdict
from grader.judge.arena import Arena
from grader.judge.channel import DONE, GO, NONCE_BYTES, Channel, Pipes, Stalled, violation
from grader.judge.failure import CandidateFailure
from grader.judge.layout import SlotLayout
from grader.judge.messages import Answer, Built, Done, Failed, ProtocolError, Ready, decode
from grader.judge.monitor import Monitor
from grader.messages import text
from grader.sandbox.base import Backend, Command, Limits, Process, SandboxError
from grader.task import Scalar

COMMANDS, ANSWERS, ARENA = 3, 4, 5
"""Descriptors of the candidate."""
INSIDE = "/solmark/candidate"
"""Where the harness lies in the sandbox."""
HARNESS = Path(__file__).parents[1] / "candidate"
START_SECONDS = 90.0
"""To start the harness and import torch, on a machine that is busy with other things."""
LOAD_SECONDS = 20.0
BIND_SECONDS = 20.0
CHUNK = 32 << 10
"""Bytes of a file in one message; base64 makes a third more of them."""
LOG_BYTES = 256 << 10
ARTIFACT_BYTES = 32 << 20
BUILD_ARENA_BYTES = LOG_BYTES + ARTIFACT_BYTES

Sentence = tuple[str, str]
"""What was waited for, in English and Chinese, as the subject of a sentence."""
Expected = TypeVar("Expected", bound=Answer)
Result = TypeVar("Result")
_ROUND: Sentence = ("A timed round", "一轮计时")


@dataclass(frozen=True)
class BuildOutcome:
    """How a compiler ended: its exit code (or minus its signal), what it printed, what it made."""

    status: int
    log: bytes
    artifact: bytes


class Client:
    """Made by `start`. `process`, `arena` and `limits` are for the judge's other modules."""

    def __init__(
        self, process: Process, pipes: Pipes, arena: Arena, limits: Limits, language: Language
    ) -> None:
        self.process = process
        self.arena = arena
        self.limits = limits
        self.language = language
        self.versions: Ready | None = None
        """What runs in the sandbox, once it is ready."""
        self.alive = True
        self._monitor = Monitor(process, limits)
        self._channel = Channel(pipes, self._monitor)
        self._pipes = pipes
        self._waited = 0.0
        self._cpu_before = 0.0
        self._signature = ""
        self.entry = ""
        """The function that `bind` binds."""

    @classmethod
    def start(
        cls,
        backend: Backend,
        limits: Limits,
        *,
        arena_bytes: int,
        language: Language,
        cpus: frozenset[int] | None = None,
    ) -> Self:
        """Start the harness in a fresh sandbox and return at once; `ready` waits for it.

        Raises SandboxError.
        """
        arena = Arena(arena_bytes)
        pipes = Pipes.open()
        try:
            process = backend.start(
                Command(
                    argv=[sys.executable, "-I", "-B", "-u", f"{INSIDE}/__main__.py", language.value],
                    descriptors={
                        COMMANDS: pipes.commands_read,
                        ANSWERS: pipes.answers_write,
                        ARENA: arena.descriptor,
                    },
                    environment=_environment(language, cpus),
                    read_only={INSIDE: HARNESS},
                    cpus=cpus,
                ),
                limits,
            )
        except BaseException:
            pipes.close()
            arena.close()
            raise
        pipes.close_candidate_ends()
        return cls(process, pipes, arena, limits, language)

    def ready(self, seconds: float = START_SECONDS) -> Ready:
        """Wait until the harness waits for work. No student code has come in yet: all failures are ours."""
        if self.versions is None:
            try:
                answer = decode(self._channel.receive(time.monotonic() + seconds))
            except (CandidateFailure, ProtocolError, Stalled) as error:
                out, err = self._monitor.output()
                self._end()
                raise SandboxError(f"the harness did not start ({error!r}): {out}{err}") from error
            if not isinstance(answer, Ready):
                raise SandboxError(f"the harness started with {answer!r}")
            self.versions = answer
            self._monitor.begin()
        return self.versions

    def load(
        self,
        files: Mapping[str, bytes],
        entry: str,
        entry_name: str,
        artifact: bytes | None = None,
        *,
        signature: str = "",
        deadline: float | None = None,
    ) -> None:
        """Send the files and have the function `entry` of the file `entry_name` loaded.

        C++ needs the `artifact` of `build`. `signature` is how the function is called, for messages.
        """
        self.ready()
        self.entry, self._signature = entry, signature
        self._send_files({} if artifact is not None else files, artifact)
        message = {"type": "load", "entry": entry, "file": entry_name}
        self._ask(message, Done, _or_in(deadline, LOAD_SECONDS), ("Loading the submission", "加载提交的代码"))

    def build(self, files: Mapping[str, bytes], entry_name: str, seconds: float) -> BuildOutcome:
        """Compile the files. The arena must have BUILD_ARENA_BYTES. Exceeding the time is a failure."""
        self.ready()
        self._send_files(files, None)
        message = {
            "type": "build",
            "file": entry_name,
            "log_bytes": LOG_BYTES,
            "artifact_bytes": ARTIFACT_BYTES,
        }
        try:
            built = self._ask(message, Built, time.monotonic() + seconds, ("Building", "构建"))
        except CandidateFailure as failure:
            if failure.text.code == "wall":
                sentence = text("compile_time", seconds=f"{seconds:g}")
                raise CandidateFailure(Verdict.TIME_LIMIT, sentence) from None
            raise
        if built.log_bytes > LOG_BYTES or built.artifact_bytes > ARTIFACT_BYTES:
            raise self._fail(violation("a size beyond its region"))
        return BuildOutcome(
            built.status,
            self.arena.read(0, built.log_bytes),
            self.arena.read(LOG_BYTES, built.artifact_bytes),
        )

    def bind(
        self,
        slots: Sequence[SlotLayout],
        scalars: Mapping[str, Scalar],
        *,
        entry: str | None = None,
        signature: str | None = None,
        deadline: float | None = None,
    ) -> None:
        """Have the argument lists of consecutive slots (from `layout.plan`) made, before anything is timed.

        `entry` changes to another function of the same file.
        """
        plan = slots[0].plan
        if slots[-1].end > self.arena.size:
            raise ValueError(f"slots reach to byte {slots[-1].end} of an arena of {self.arena.size}")
        self.entry = entry or self.entry
        self._signature = signature if signature is not None else self._signature
        message = {
            "type": "bind",
            "entry": self.entry,
            "start": slots[0].start,
            "stride": plan.stride,
            "count": len(slots),
            "tensors": [
                {
                    "name": placement.tensor.name,
                    "dtype": placement.tensor.dtype,
                    "shape": placement.tensor.shape,
                    "strides": placement.tensor.effective_strides,
                    "offset": placement.tensor.offset,
                    "span": placement.tensor.span_bytes,
                    "role": placement.tensor.role,
                    "start": placement.start,
                }
                for placement in plan.placements
            ],
            "scalars": list(scalars.items()),
        }
        self._ask(message, Done, _or_in(deadline, BIND_SECONDS), ("Preparing the arguments", "准备参数"))

    def call(self, slot: int, deadline: float) -> None:
        """One untimed call on a bound slot, to be over at `deadline` (of time.monotonic())."""
        self._ask({"type": "call", "slot": slot}, Done, deadline, ("The call", "该次调用"))

    def arm(self, calls: int, deadline: float) -> None:
        """On the next `go`, have slots 0 .. calls - 1 called once each; returns when it waits in read(2)."""
        self._ask({"type": "arm", "calls": calls}, Done, deadline, ("Waiting for go", "等待开始信号"))

    def unread(self) -> bool:
        """Whether the candidate has sent anything that nobody asked for."""
        return self._channel.unread()

    def go(self, nonce: bytes) -> None:
        """Send `go` with 16 fresh random bytes. Never waits: the pipe is empty."""
        if len(nonce) != NONCE_BYTES:
            raise ValueError(f"a nonce of {len(nonce)} bytes; {NONCE_BYTES} are needed")
        deadline = time.monotonic() + 1.0
        self._guarded(lambda until: self._channel.send_raw(GO + nonce, until), deadline, _ROUND)

    def await_done(self, nonce: bytes, deadline: float) -> None:
        """Wait for the answer that echoes the nonce; anything else is a failure."""
        body = self._guarded(self._channel.receive, deadline, _ROUND)
        if body[:4] != DONE:
            self._judge_answer(body, None, Done)
            raise self._fail(violation("a message in place of done"))
        if body[4:] != nonce:
            raise self._fail(violation("a wrong nonce"))

    def output(self) -> tuple[str, str]:
        """(stdout, stderr) since the last call, cleaned and shortened."""
        return self._monitor.output()

    def kill(self) -> None:
        """End everything in the sandbox now; safe from another thread. Raises SandboxError if it cannot."""
        self.alive = False
        self.process.kill()

    def close(self) -> None:
        """End the sandbox and give everything back; safe to call twice."""
        self.alive = False
        try:
            self.process.close()
        finally:
            self._pipes.close()
            self.arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send_files(self, files: Mapping[str, bytes], artifact: bytes | None) -> None:
        deadline = time.monotonic() + LOAD_SECONDS
        parts = [("file", name, data) for name, data in files.items()]
        if artifact is not None:
            parts.append(("artifact", "", artifact))
        for kind, name, data in parts:
            for at in range(0, max(1, len(data)), CHUNK):
                chunk = base64.b64encode(data[at : at + CHUNK]).decode()
                body = json.dumps({"type": kind, "name": name, "data": chunk}).encode()
                try:
                    self._channel.send(body, deadline)
                except Stalled:
                    raise SandboxError("the harness does not take the files") from None

    def _ask(
        self, message: Mapping[str, Any], expected: type[Expected], deadline: float, what: Sentence
    ) -> Expected:
        """One request and its answer."""
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
        return self._judge_answer(self._guarded(exchange, deadline, what), identity, expected)

    def _judge_answer(self, body: bytes, identity: str | None, expected: type[Expected]) -> Expected:
        """The answer if it is the expected one to that request, else the failure that it is."""
        try:
            answer = decode(body)
        except ProtocolError as error:
            raise self._fail(violation(str(error))) from None
        if isinstance(answer, Ready) or (identity is not None and answer.id != identity):
            raise self._fail(violation("an answer to no question"))
        if isinstance(answer, Failed):
            raise self._submission_failure(answer, building=expected is Built)
        if not isinstance(answer, expected):
            raise self._fail(violation("an answer to another question"))
        return answer

    def _guarded(self, action: Callable[[float], Result], deadline: float, what: Sentence) -> Result:
        """Run a wait until its deadline, or until the wall time of the sandbox is spent.

        A failure that the process does not survive has ended it when this returns.
        """
        begin = time.monotonic()
        until = min(deadline, begin + self.limits.wall_seconds - self._waited)
        try:
            return action(until)
        except Stalled:
            now = time.monotonic()
            limit = self.limits.wall_seconds if until < deadline else deadline - begin
            used = self._monitor.cpu_seconds() - self._cpu_before
            raise self._fail(_time_limit(what, limit, now - begin, used)) from None
        except CandidateFailure as failure:
            raise self._fail(failure) from None
        finally:
            self._waited += time.monotonic() - begin

    def _fail(self, failure: CandidateFailure) -> CandidateFailure:
        """End the process of a failure that it does not survive."""
        if not failure.alive:
            self._monitor.drain()
            self._end()
        return failure

    def _end(self) -> None:
        self.alive = False
        self.process.kill()

    def _submission_failure(self, answer: Failed, *, building: bool) -> CandidateFailure:
        """What the harness reported, as a verdict. It is the candidate's word: only student verdicts."""
        if building and answer.kind == "no_compiler":
            raise SandboxError("g++ is not installed on this machine")
        verdict, sentence = _interpret(answer, self.entry, self._signature, self.limits)
        return CandidateFailure(verdict, sentence, detail=answer.text, alive=not building)


def _interpret(answer: Failed, entry: str, signature: str, limits: Limits) -> tuple[Verdict, Text]:
    build, run = Verdict.BUILD_ERROR, Verdict.RUNTIME_ERROR
    detail = answer.text
    fields = {"entry": entry, "signature": signature, "detail": detail, "number": answer.number}
    match answer.kind:
        case "syntax" | "import" | "missing_entry" | "missing_symbol" | "not_callable" | "load_library":
            return build, text(answer.kind, **fields)
        case "artifact_size":
            return build, text("artifact_size", limit=ARTIFACT_BYTES)
        case "memory":
            return Verdict.MEMORY_LIMIT, text("memory", limit=limits.memory_bytes >> 20)
        case "exit":
            return run, text("exit", code=detail)
        case _:
            return run, text(answer.kind, **fields)


def _or_in(deadline: float | None, seconds: float) -> float:
    return time.monotonic() + seconds if deadline is None else deadline


def _time_limit(what: Sentence, limit: float, waited: float, cpu: float) -> CandidateFailure:
    share = cpu / waited if waited > 0 else 0.0
    if share > 0.7:
        where = ("it was computing", "它一直在计算")
    elif share < 0.1:
        where = ("it was waiting or asleep", "它在等待或休眠")
    else:
        where = ("it was partly computing, partly waiting", "它部分时间在计算，部分时间在等待")
    return CandidateFailure(
        Verdict.TIME_LIMIT,
        text("wall", what=what[0], what_zh=what[1], limit=f"{limit:.3g}", waited=f"{waited:.1f}",
             cpu=f"{cpu:.1f}", where=where[0], where_zh=where[1]),
    )  # fmt: skip


def _environment(language: Language, cpus: frozenset[int] | None) -> dict[str, str]:
    threads = str(len(cpus) if cpus is not None else len(os.sched_getaffinity(0)))
    environment = {
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
    if language is Language.TRITON:
        environment |= {"TRITON_INTERPRET": "1", "TRITON_CACHE_DIR": "/tmp/triton"}  # noqa: S108 (inside)
    return environment
