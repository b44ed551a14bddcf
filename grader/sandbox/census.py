"""Counts what a sandbox uses where no cgroup does: the watchdog of a caller who may make none.

It walks from the namespace's first process, which adopts every orphan, to all that live below it, each time
it is asked. A limit by process (`gate.rlimits`) stops one that takes too much by itself; this adds them up.
It counts nothing twice, so no limit is early. It may miss what comes and goes between two looks, and memory
that is shared: so these limits stay named as not enforced.
"""

import contextlib
import os
import time
from collections.abc import Collection
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY_PAUSE_SECONDS = 0.2
"""Between two looks at memory."""
_AT_MOST = ("RssAnon", "VmSwap")
"""What the kernel has at hand of a process, with every page that it shares with others."""
_EXACT = ("Pss_Anon", "SwapPss")
"""Of a page that n processes share, 1/n: the kernel walks through all pages, which a timed program would
feel. Scratch has limits of its own, and the arena is the judge's."""


class Census:
    """Of the processes from this one down; `memory_bytes` is their limit together."""

    def __init__(self, first: int, memory_bytes: int) -> None:
        self._first = first
        self._memory_bytes = memory_bytes
        self._next_look = 0.0
        self.cpu_seconds = 0.0
        """CPU time of all that live and of those that were waited for."""
        self.memory_peak_bytes = 0
        """The most that was held at any look at which it could be more than the limit; else 0."""

    @property
    def memory_is_passed(self) -> bool:
        """Whether they have held more than their limit together."""
        return self.memory_peak_bytes > self._memory_bytes

    def take(self) -> tuple[float, int]:
        """(CPU seconds, bytes held) of now, for `note`; memory is looked at now and then only."""
        living = _below(self._first)
        used, held = sum(map(_cpu_seconds, living)), 0
        if time.monotonic() >= self._next_look:
            if sum(_bytes(pid, "status", _AT_MOST) for pid in living) > self._memory_bytes:
                # Both ways round: what passes from one to another meanwhile is not there twice.
                held = min(
                    sum(_bytes(pid, "smaps_rollup", _EXACT) for pid in order)
                    for order in (living, living[::-1])
                )
            self._next_look = time.monotonic() + _MEMORY_PAUSE_SECONDS
        return used, held

    def note(self, taken: tuple[float, int]) -> None:
        """Believe it: the caller decides, who knows whether the first process was still the same one."""
        self.cpu_seconds = max(self.cpu_seconds, taken[0])
        self.memory_peak_bytes = max(self.memory_peak_bytes, taken[1])


def _below(first: int) -> list[int]:
    """The process and all its descendants, parents first; who is born or dies meanwhile may be missing."""
    found: dict[int, None] = {}
    pending = [first]
    while pending:
        pid = pending.pop()
        if pid in found:
            continue  # A child that passed to another thread of its parent.
        found[pid] = None
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    pending += map(int, (task / "children").read_text().split())
    return list(found)


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process, of its own and of the children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def _bytes(pid: int, file: str, names: Collection[str]) -> int:
    """The sum of these fields of a file of a process; 0 if it has ended."""
    total = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in names:
                total += int(value.split()[0]) << 10
    return total
