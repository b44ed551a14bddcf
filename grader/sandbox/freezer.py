"""Freezers: stop every process of a cgroup through the kernel, and read the group's CPU time.

Both keep their files open: a freeze and a thaw stand inside every timed round.
"""

import os
import time
from collections.abc import Callable
from typing import Literal

from grader.sandbox.base import FreezeTimeoutError, SandboxError

_SPINS = 400
"""Polls without sleep, about half a millisecond: an idle group is frozen within."""
_PAUSE_SECONDS = 50e-6


class Cgroup2Freezer:
    """cgroup.freeze of v2, which no signal, timer or vfork gets around."""

    kind: Literal["cgroup2", "cgroup1"] = "cgroup2"

    def __init__(self, folder: str) -> None:
        self._switch = os.open(f"{folder}/cgroup.freeze", os.O_RDWR | os.O_CLOEXEC)
        self._events = os.open(f"{folder}/cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
        self._stat = os.open(f"{folder}/cpu.stat", os.O_RDONLY | os.O_CLOEXEC)
        self._threads = os.open(f"{folder}/cgroup.threads", os.O_RDONLY | os.O_CLOEXEC)

    def freeze(self, timeout_seconds: float = 1.0) -> None:
        """Return once cgroup.events says frozen (or that nobody is left); raise FreezeTimeoutError else."""
        _write(self._switch, b"1")
        poll(self._confirmed, timeout_seconds)

    def thaw(self) -> None:
        """Let all run again."""
        _write(self._switch, b"0")

    def cpu_seconds(self) -> float:
        """CPU time of the whole group so far, in seconds, to the microsecond."""
        text = _read(self._stat)
        return int(text[text.index(b" ") + 1 : text.index(b"\n")]) / 1e6

    def close(self) -> None:
        """Close the files."""
        for descriptor in (self._switch, self._events, self._stat, self._threads):
            os.close(descriptor)

    def runnable(self) -> bool:
        """Whether a thread that is frozen has not left its CPU, or its place in line for one, yet."""
        return _runnable(self._threads)

    def _confirmed(self) -> bool:
        text = _read(self._events)
        return b"frozen 1" in text or b"populated 0" in text


class Cgroup1Freezer:
    """freezer.state of v1, for machines without v2; CPU time from cpuacct."""

    kind: Literal["cgroup2", "cgroup1"] = "cgroup1"

    def __init__(self, freezer_folder: str, cpuacct_folder: str) -> None:
        self._state = os.open(f"{freezer_folder}/freezer.state", os.O_RDWR | os.O_CLOEXEC)
        self._usage = os.open(f"{cpuacct_folder}/cpuacct.usage", os.O_RDONLY | os.O_CLOEXEC)
        self._threads = os.open(f"{freezer_folder}/tasks", os.O_RDONLY | os.O_CLOEXEC)

    def freeze(self, timeout_seconds: float = 1.0) -> None:
        """Return once freezer.state reads FROZEN; raise FreezeTimeoutError else."""
        _write(self._state, b"FROZEN")
        poll(lambda: _read(self._state) == b"FROZEN\n", timeout_seconds)

    def thaw(self) -> None:
        """Let all run again."""
        _write(self._state, b"THAWED")

    def cpu_seconds(self) -> float:
        """CPU time of the whole group so far, in seconds, to the nanosecond."""
        return int(_read(self._usage)) / 1e9

    def close(self) -> None:
        """Close the files."""
        for descriptor in (self._state, self._usage, self._threads):
            os.close(descriptor)

    def runnable(self) -> bool:
        """Whether a thread that is frozen has not left its CPU, or its place in line for one, yet."""
        return _runnable(self._threads)


def _runnable(threads: int) -> bool:
    """Whether the kernel shows a thread of this list as running or ready to run."""
    for thread in os.pread(threads, 1 << 20, 0).split():
        try:
            with open(b"/proc/%s/stat" % thread, "rb") as file:  # noqa: PTH123 (bytes, and many of them)
                if file.read(512).rpartition(b")")[2].split()[0] == b"R":
                    return True
        except OSError:  # it has ended
            continue
    return False


def _read(descriptor: int) -> bytes:
    try:
        return os.pread(descriptor, 128, 0)
    except OSError as error:  # removed, by a kill from another thread
        raise SandboxError(f"the freezer cannot be read: {error.strerror}") from error


def _write(descriptor: int, value: bytes) -> None:
    try:
        os.pwrite(descriptor, value, 0)
    except OSError as error:
        raise SandboxError(f"the freezer refused {value.decode()}: {error.strerror}") from error


def poll(confirmed: Callable[[], bool], timeout_seconds: float) -> None:
    """Ask until the answer is yes; raise FreezeTimeoutError after the timeout."""
    deadline = time.monotonic() + timeout_seconds
    polls = 0
    while not confirmed():
        if time.monotonic() > deadline:
            raise FreezeTimeoutError(f"not frozen within {timeout_seconds:g} s")
        polls += 1
        if polls > _SPINS:
            time.sleep(_PAUSE_SECONDS)
