"""Watches one sandboxed process while the judge waits for it: its output, its limits, its end.

Every wait of the judge on a candidate polls `descriptors()` as well and calls `service` with what is ready.
A limit that is passed or an end that comes too early is raised as a CandidateFailure with its verdict.
"""

import math
import os
import signal
import time
from collections.abc import Collection

from grader.contract import Text, Verdict
from grader.judge.failure import CandidateFailure
from grader.messages import text
from grader.plaintext import clean
from grader.sandbox.base import MIB, Exit, Limits, Process, SandboxError, Usage

TICK_SECONDS = 0.05
"""How often usage is looked at during a wait."""
EXIT_SECONDS = 5.0
KEPT_BYTES = 64 << 10
"""Of each stream between two calls of `output`; the end of more is dropped."""
_CHUNK = 64 << 10

_HINTS: dict[signal.Signals, tuple[str, str]] = {
    signal.SIGSEGV: (
        "it touched memory that is not its own: an index out of range or a bad pointer",
        "访问了不属于它的内存：下标越界或指针错误",
    ),
    signal.SIGBUS: (
        "it touched memory beyond the end of a file or a wrongly aligned address",
        "访问了文件末尾之外的内存或未对齐的地址",
    ),
    signal.SIGFPE: ("an integer was divided by zero", "整数除以零"),
    signal.SIGILL: ("an instruction that this CPU does not have", "此 CPU 不支持的指令"),
    signal.SIGABRT: (
        "it aborted itself: a failed assertion, a corrupted heap or an uncaught C++ exception",
        "程序自行中止：断言失败、堆损坏或未捕获的 C++ 异常",
    ),
    signal.SIGKILL: ("it was killed", "它被强制结束"),
}


class Monitor:
    """Drains a process's output and turns its limits and its end into verdicts."""

    def __init__(self, process: Process, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._streams = {process.stdout: bytearray(), process.stderr: bytearray()}
        self._open = set(self._streams)
        self._printed = 0
        self._cpu_at_start = math.inf  # Until `begin`, no processor time is the student's.
        self._next_look = 0.0

    def descriptors(self) -> Collection[int]:
        """What a wait has to poll for reading besides its own pipe."""
        return (*self._open, self._process.pidfd)

    def begin(self) -> None:
        """Processor time counts from here: starting up is ours, not the student's."""
        self._cpu_at_start = self._process.usage().cpu_seconds

    def cpu_seconds(self) -> float:
        """Processor time since `begin`."""
        return max(0.0, self._process.usage().cpu_seconds - self._cpu_at_start)

    def service(self, ready: Collection[int], *, look: bool = True) -> bool:
        """Drain what is ready and look at the limits; true if the process has ended.

        Without `look` the limits wait until the next time: reading them takes a tenth of a millisecond, which
        must not lie between an answer and the clock. Raises CandidateFailure where a limit is passed.
        """
        for descriptor in tuple(self._open):
            if descriptor in ready:
                self._drain(descriptor)
        now = time.monotonic()
        if look and now >= self._next_look:
            self.look()
        return self._process.pidfd in ready

    def look(self) -> None:
        """Look at the limits now. Raises CandidateFailure where one is passed."""
        self._next_look = time.monotonic() + TICK_SECONDS
        usage = self._process.usage()
        _check_host(usage)
        if usage.oom_kills:
            raise self._memory()
        if usage.cpu_seconds - self._cpu_at_start > self._limits.cpu_seconds:
            raise CandidateFailure(Verdict.TIME_LIMIT, text("cpu", limit=f"{self._limits.cpu_seconds:g}"))

    def ended(self) -> CandidateFailure:
        """Why a process that has ended, or closed its channel, did so."""
        end = self._process.wait(EXIT_SECONDS)
        gone = end is not None
        if end is None:
            end = self._process.kill()
        self.drain()
        return self._explain(end, gone=gone)

    def ended_with(self, status: int) -> CandidateFailure:
        """Why one process among several has ended: with this exit code, or minus its signal."""
        number = -status if status < 0 else None
        code = status if status >= 0 else None
        return self._explain(Exit(code, number, self._process.usage()), gone=True)

    def drain(self) -> None:
        """Read what is left of both outputs, without waiting; past the limit the rest is dropped."""
        for descriptor in tuple(self._open):
            try:
                while self._drain(descriptor):
                    pass
            except CandidateFailure:
                self._open.discard(descriptor)

    def output(self) -> tuple[str, str]:
        """What stdout and stderr carried since the last call, cleaned."""
        self.drain()
        out, err = (clean(bytes(kept).decode("utf-8", "replace"), 16384) for kept in self._streams.values())
        for kept in self._streams.values():
            kept.clear()
        return out, err

    def _drain(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._open.discard(descriptor)
            return False
        kept = self._streams[descriptor]
        kept += data[: max(0, KEPT_BYTES - len(kept))]
        self._printed += len(data)
        if self._printed > self._limits.output_bytes:
            raise CandidateFailure(Verdict.OUTPUT_LIMIT, text("output", limit=self._limits.output_bytes))
        return True

    def _memory(self) -> CandidateFailure:
        return CandidateFailure(Verdict.MEMORY_LIMIT, text("memory", limit=self._limits.memory_bytes // MIB))

    def _explain(self, end: Exit, *, gone: bool) -> CandidateFailure:
        if end.syscall_violation or end.signal == signal.SIGSYS:
            return CandidateFailure(Verdict.SANDBOX_VIOLATION, text("violation"))
        _check_host(end.usage)
        if end.out_of_memory:
            return self._memory()
        if not gone:
            return CandidateFailure(Verdict.RUNTIME_ERROR, text("closed"))
        if end.signal == signal.SIGXCPU:
            return CandidateFailure(Verdict.TIME_LIMIT, text("cpu", limit=f"{self._limits.cpu_seconds:g}"))
        if end.signal is not None:
            return CandidateFailure(Verdict.RUNTIME_ERROR, crash(end.signal))
        if end.code is None:
            raise SandboxError("the sandbox ended without a status")
        return CandidateFailure(Verdict.RUNTIME_ERROR, text("exit", code=end.code))


def _check_host(usage: Usage) -> None:
    """Raise SandboxError where the machine, not the candidate's limit, ran out of memory."""
    if usage.host_oom_kills:
        raise SandboxError("this machine ran out of memory, and the kernel killed the candidate for it")


def crash(number: int) -> Text:
    """The sentence for a program that a signal has ended."""
    hint, hint_zh = "ended by a signal", "被信号终止"
    name = f"signal {number}"
    try:
        known = signal.Signals(number)
        name = known.name
        hint, hint_zh = _HINTS.get(known, (hint, hint_zh))
    except ValueError:
        pass
    return text("signal", signal=name, hint=hint, hint_zh=hint_zh)
