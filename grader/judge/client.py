"""One sandboxed candidate as the judge sees it: a process, a channel, an arena.

Every method that waits takes a deadline (of `time.monotonic()`) and raises CandidateFailure when the
candidate fails, and SandboxError when the machine does. After a failure whose `alive` is false only `output`
and `close` remain.
"""

import base64
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from grader.contract import Language, Text, Verdict
from grader.dialects import DIALECTS
from grader.judge import compilers
from grader.judge.arena import Arena
from grader.judge.channel import Pipes, violation
from grader.judge.exchange import Exchange, Sentence
from grader.judge.failure import CandidateFailure
from grader.judge.gpu.arena import DeviceArena
from grader.judge.gpu.device import Device
from grader.judge.layout import SlotLayout
from grader.judge.messages import MAX_FRAME, Built, Done, Failed, Ready, Reply
from grader.messages import text
from grader.sandbox.base import MIB, Backend, Command, Limits, Process, SandboxError
from grader.task import Scalar

COMMANDS, ANSWERS, ARENA, DEVICE_ARENA = 3, 4, 5, 6
"""Descriptors of the candidate."""
INSIDE = "/solmark/candidate"
"""Where the harness lies in the sandbox."""
HARNESS = Path(__file__).parents[1] / "candidate"
START_SECONDS = 90.0
"""To start the harness and import torch, on a machine that is busy with other things."""
START_CPU_SECONDS = 10.0
"""Processor time that starting may take. The kernel counts it with the student's where it ends a process by
itself, as it must should nobody watch; the judge's own count begins when the harness is ready."""
LOAD_SECONDS = 20.0
BIND_SECONDS = 20.0
CHUNK = 32 << 10
"""Bytes of a file in one message; base64 makes a third more of them."""
LOG_BYTES = 256 << 10
ARTIFACT_BYTES = 32 << 20
BUILD_ARENA_BYTES = LOG_BYTES + ARTIFACT_BYTES

_BUILD_KINDS = frozenset(
    {"syntax", "import", "load_library", "missing_entry", "missing_symbol", "not_callable", "artifact_size"}
)
_LOADING: Sentence = ("Loading the submission", "加载提交的代码")
_BUILDING: Sentence = ("Building", "构建")
_BINDING: Sentence = ("Preparing the arguments", "准备参数")
_CALLING: Sentence = ("The call", "该次调用")
_ARMING: Sentence = ("Waiting for go", "等待开始信号")
_PROFILING: Sentence = ("Profiling", "性能分析")
_OPENING: Sentence = ("Beginning the episode", "开始对话")


class NoCompilerError(SandboxError):
    """This machine cannot build the submission; `text` says so to its author."""

    def __init__(self, sentence: Text) -> None:
        super().__init__(sentence.en)
        self.text = sentence


@dataclass(frozen=True)
class BuildOutcome:
    """How a compiler ended: its exit code (or minus its signal), what it printed, what it made."""

    status: int
    log: bytes
    artifact: bytes


class Client:
    """Made by `start`. `process`, `arena` and `limits` are for the judge's other modules."""

    def __init__(
        self,
        process: Process,
        pipes: Pipes,
        arena: Arena,
        limits: Limits,
        language: Language,
        device_arena: DeviceArena | None = None,
    ) -> None:
        self.process = process
        self.arena = arena
        self.device_arena = device_arena
        self.remark = ""
        """Why the calls of the last armed round could not be captured in a graph, if so."""
        self.limits = limits
        self.language = language
        self.versions: Ready | None = None
        """What runs in the sandbox, once it is ready."""
        self.entry = ""
        """The function that `bind` binds."""
        self._signature = ""
        self._pipes = pipes
        self._exchange = Exchange(process, pipes, limits, self._explain)

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._exchange.alive

    @classmethod
    def start(
        cls,
        backend: Backend,
        limits: Limits,
        *,
        arena_bytes: int,
        language: Language,
        cpus: frozenset[int] | None = None,
        device: Device | None = None,
        device_bytes: int = 0,
        under: Sequence[str] = (),
        mounts: Mapping[str, Path] = MappingProxyType({}),
    ) -> Self:
        """Start the harness in a fresh sandbox and return at once; `ready` waits for it.

        With a `device` tensors lie in an arena of `device_bytes` there. `under` is a program that runs the
        harness, with its options, and `mounts` what it needs to see. Raises SandboxError.
        """
        arena = Arena(arena_bytes)
        pipes = Pipes.open()
        device_arena: DeviceArena | None = None
        try:
            if device is not None:
                device_arena = DeviceArena(device_bytes)
            shared = {} if device_arena is None else {DEVICE_ARENA: device_arena.descriptor}
            size = 0 if device_arena is None else device_arena.size
            process = backend.start(
                Command(
                    argv=[
                        *under,
                        backend.python,
                        "-I",
                        "-B",
                        "-u",
                        f"{INSIDE}/__main__.py",
                        language.value,
                        str(size),
                    ],
                    descriptors={
                        COMMANDS: pipes.commands_read,
                        ANSWERS: pipes.answers_write,
                        ARENA: arena.descriptor,
                        **shared,
                    },
                    environment=_environment(language, cpus, interpreted=device is None),
                    devices=() if device is None else device.nodes,
                    gpus=() if device is None else (device.uuid,),
                    read_only={INSIDE: HARNESS, **mounts},
                    cpus=cpus,
                ),
                replace(limits, cpu_seconds=limits.cpu_seconds + START_CPU_SECONDS),
            )
        except BaseException:
            pipes.close()
            arena.close()
            if device_arena is not None:
                device_arena.close()
            raise
        pipes.close_candidate_ends()
        return cls(process, pipes, arena, limits, language, device_arena)

    @property
    def memory(self) -> Arena | DeviceArena:
        """Where the tensors of slots lie."""
        return self.arena if self.device_arena is None else self.device_arena

    def ready(self, seconds: float = START_SECONDS) -> Ready:
        """Wait until the harness waits for work. No student code has come in yet: all failures are ours."""
        if self.versions is None:
            self.versions = self._exchange.hello(seconds)
        return self.versions

    def load(
        self,
        files: Mapping[str, bytes],
        entry: str,
        entry_name: str,
        artifact: bytes | None = None,
        *,
        adapter: bytes | None = None,
        signature: str = "",
        deadline: float | None = None,
    ) -> None:
        """Send the files and have the function `entry` of the file `entry_name` loaded; "" stands for none.

        C++ needs the `artifact` of `build`. `adapter` is the assignment's `adapter.py`, for dialogues.
        `signature` is how the function is called, for messages.
        """
        self.ready()
        self.entry, self._signature = entry, signature
        self._send_files({} if artifact is not None else files, artifact, adapter)
        message = {"type": "load", "entry": entry, "file": entry_name}
        self._exchange.ask(message, Done, _or_in(deadline, LOAD_SECONDS), _LOADING)

    def build(
        self, files: Mapping[str, bytes], entry_name: str, seconds: float, flags: Sequence[str] = ()
    ) -> BuildOutcome:
        """Compile the files, with these flags added to the compiler's.

        The arena must have BUILD_ARENA_BYTES. Exceeding the time is a failure.
        """
        self.ready()
        self._send_files(files)
        message = {
            "type": "build",
            "file": entry_name,
            "flags": compilers.flags(entry_name, flags),
            "log_bytes": LOG_BYTES,
            "artifact_bytes": ARTIFACT_BYTES,
        }
        try:
            built = self._exchange.ask(message, Built, time.monotonic() + seconds, _BUILDING)
        except CandidateFailure as failure:
            if failure.text.code == "no_compiler":  # Nothing of the student's has run here.
                raise NoCompilerError(failure.text) from None
            if failure.text.code == "wall":
                sentence = text("compile_time", seconds=f"{seconds:g}")
                raise CandidateFailure(Verdict.TIME_LIMIT, sentence) from None
            raise
        if built.status != 0 and (passed := self._exchange.limit_passed()) is not None:
            raise passed  # The compiler calls it an error that the kernel has killed a part of it.
        if built.log_bytes > LOG_BYTES or built.artifact_bytes > ARTIFACT_BYTES:
            raise self._exchange.failed(violation("a size beyond its region"))
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
        link: Mapping[str, Any] | None = None,
    ) -> None:
        """Have the argument lists of consecutive slots (from `layout.plan`) made, before anything is timed.

        `entry` changes to another function of the same file. `link` is what the harness queues between the
        calls of a round (see `grader.judge.gpu.link`).
        """
        plan = slots[0].plan
        if slots[-1].end > self.memory.size:
            raise ValueError(f"slots reach to byte {slots[-1].end} of an arena of {self.memory.size}")
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
            "link": link,
        }
        self._exchange.ask(message, Done, _or_in(deadline, BIND_SECONDS), _BINDING)

    def allow(self, seconds: float) -> None:
        """From now on the judge waits for it no longer than this, all waits together."""
        self._exchange.allow(seconds)

    def call(self, slot: int, deadline: float) -> None:
        """One untimed call on a bound slot, to be over at `deadline` (of time.monotonic())."""
        self._exchange.ask({"type": "call", "slot": slot}, Done, deadline, _CALLING)

    def arm(self, calls: int, deadline: float) -> None:
        """On the next `go`, have slots 0 .. calls - 1 called once each; returns when it waits in read(2)."""
        done = self._exchange.ask({"type": "arm", "calls": calls}, Done, deadline, _ARMING)
        self.remark = done.remark

    def open_dialogue(self, regions: Sequence[Mapping[str, Any]]) -> None:
        """Begin an episode with these blob regions (see `grader.judge.blobs`)."""
        message = {"type": "open", "regions": list(regions)}
        self._exchange.ask(message, Done, time.monotonic() + BIND_SECONDS, _OPENING)

    def converse(self, method: str, value: Any, deadline: float) -> Reply:
        """One question of a dialogue and the answer to it, by `deadline` (of time.monotonic())."""
        message = {"type": "ask", "method": method, "message": value}
        what = (f"The answer to `{method}`", f"对 `{method}` 的回答")
        return self._exchange.ask(message, Reply, deadline, what)

    def profile(self, slot: int, calls: int, deadline: float) -> Any:
        """So many calls on a bound slot under torch's profiler: plain JSON, which is the candidate's word."""
        message = {"type": "profile", "slot": slot, "calls": calls}
        return self._exchange.ask(message, Reply, deadline, _PROFILING).value

    def finish(self, seconds: float) -> tuple[str, str]:
        """End the conversation and wait until the program has ended by itself; what it printed since."""
        self._pipes.close_commands()
        self.process.wait(seconds)
        return self.output()

    def unread(self) -> bool:
        """Whether the candidate has sent anything that nobody asked for."""
        return self._exchange.unread()

    def go(self, nonce: bytes) -> None:
        """Send `go` with 16 fresh random bytes. Never waits: the pipe is empty."""
        self._exchange.go(nonce)

    def await_done(self, nonce: bytes, deadline: float, spin_seconds: float = 0.0) -> None:
        """Wait for the answer that echoes the nonce, at first without sleeping; all else is a failure."""
        self._exchange.await_done(nonce, deadline, spin_seconds)

    def output(self) -> tuple[str, str]:
        """(stdout, stderr) since the last call, cleaned and shortened."""
        return self._exchange.output()

    def kill(self) -> None:
        """End everything in the sandbox now; safe from another thread. Raises SandboxError if it cannot."""
        self._exchange.end()

    def close(self) -> None:
        """End the sandbox and give everything back; safe to call twice."""
        self._exchange.alive = False
        try:
            self.process.close()
        finally:
            self._pipes.close()
            self.arena.close()
            if self.device_arena is not None:
                self.device_arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send_files(
        self, files: Mapping[str, bytes], artifact: bytes | None = None, adapter: bytes | None = None
    ) -> None:
        deadline = time.monotonic() + LOAD_SECONDS
        parts = [("file", name, data) for name, data in files.items()]
        ours = (("artifact", artifact), ("adapter", adapter))
        parts += [(kind, "", data) for kind, data in ours if data is not None]
        for kind, name, data in parts:
            for at in range(0, max(1, len(data)), CHUNK):
                chunk = base64.b64encode(data[at : at + CHUNK]).decode()
                self._exchange.tell({"type": kind, "name": name, "data": chunk}, deadline)

    def _explain(self, answer: Failed) -> CandidateFailure:
        """What the harness reported, as a verdict. It is the candidate's word: student verdicts only."""
        kind, detail = answer.kind, answer.text
        if kind in _BUILD_KINDS:
            verdict = Verdict.BUILD_ERROR
        elif kind in ("answer_form", "answer_size"):
            verdict = Verdict.WRONG_ANSWER
        else:
            lacking = kind in ("memory", "device_memory")
            verdict = Verdict.MEMORY_LIMIT if lacking else Verdict.RUNTIME_ERROR
        sentence = text(
            kind,
            entry=self.entry,
            signature=self._signature,
            detail=detail,
            number=answer.number,
            code=detail,
            limit={"memory": self.limits.memory_bytes // MIB, "answer_size": MAX_FRAME}.get(
                kind, ARTIFACT_BYTES
            ),
        )
        # After an error of the device the process's context answers nothing any more.
        return CandidateFailure(verdict, sentence, detail=detail, alive=kind != "cuda")


def _or_in(deadline: float | None, seconds: float) -> float:
    return time.monotonic() + seconds if deadline is None else deadline


def _environment(language: Language, cpus: frozenset[int] | None, *, interpreted: bool) -> dict[str, str]:
    threads = str(len(cpus) if cpus is not None else len(os.sched_getaffinity(0)))
    environment = {
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
    dialect = DIALECTS.get(language)
    if dialect is not None:
        environment |= dialect.environment
        if interpreted:
            environment |= dialect.interpreted or {}
    return environment
