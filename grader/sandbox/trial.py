"""Run one program in a sandbox to its end, within all its limits, and keep what it printed."""

import contextlib
import os
import select
import time
from dataclasses import dataclass

from grader.sandbox.base import Backend, Command, Exit, Limit, Limits, Process

_CHECK_SECONDS = 0.05
"""How often CPU time is looked at."""
_READ_BYTES = 65536


@dataclass(frozen=True)
class Outcome:
    """How a program ended. `stopped_by` names the limit for which it was killed from outside, if it was.

    A program that runs out of memory ends by itself or by the kernel: see `Exit.out_of_memory`.
    """

    exit: Exit
    stdout: bytes
    stderr: bytes
    stopped_by: Limit | None
    seconds: float
    """Wall time from the end of `start` to the end of the program."""

    @property
    def text(self) -> str:
        """stdout as text, for people."""
        return self.stdout.decode(errors="replace")


def run(backend: Backend, command: Command, limits: Limits) -> Outcome:
    """Start a program, hold it to wall time, CPU time and output, and wait for its end.

    The kernel holds it to the other limits. Raises SandboxError if the sandbox fails.
    """
    with contextlib.closing(backend.start(command, limits)) as process:
        started = time.monotonic()
        output = {process.stdout: b"", process.stderr: b""}
        stopped_by = _watch(process, limits, output, started + limits.wall_seconds)
        end = process.kill() if stopped_by is not None else process.wait(limits.wall_seconds)
        seconds = time.monotonic() - started
        for descriptor in output:
            _read(descriptor, output)
    return Outcome(
        exit=end or process.kill(),
        stdout=output[process.stdout][: limits.output_bytes],
        stderr=output[process.stderr][: limits.output_bytes],
        stopped_by=stopped_by,
        seconds=seconds,
    )


def _watch(process: Process, limits: Limits, output: dict[int, bytes], deadline: float) -> Limit | None:
    """Read until the program has ended or a limit is passed, and say which."""
    poller = select.poll()
    for descriptor in (process.pidfd, *output):
        poller.register(descriptor, select.POLLIN)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return Limit.WALL
        ready = {descriptor for descriptor, _ in poller.poll(min(left, _CHECK_SECONDS) * 1e3)}
        for descriptor in ready & set(output):
            if not _read(descriptor, output):
                poller.unregister(descriptor)
        if sum(map(len, output.values())) > limits.output_bytes:
            return Limit.OUTPUT
        if process.usage().cpu_seconds > limits.cpu_seconds:
            return Limit.CPU
        if process.pidfd in ready:
            return None


def _read(descriptor: int, output: dict[int, bytes]) -> bool:
    """Take what is there; False once all writers have closed."""
    try:
        chunk = os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return True
    output[descriptor] += chunk
    return bool(chunk)
