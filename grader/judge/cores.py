"""Which CPU the judge takes and which the candidate gets: never two hyperthreads of one core.

The judge keeps the first CPU, where the kernel tends to run its own errands, and leaves the others.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    """CPU numbers of the judge and of the candidate."""

    judge: int
    candidate: frozenset[int]

    @property
    def shared(self) -> bool:
        """Both run on one core, and disturb each other: times are not comparable."""
        return self.judge in self.candidate


def choose(available: frozenset[int] | None = None, topology: Path = CPUS) -> Cores:
    """Divide the CPUs this process may use (or `available`) between judge and candidate.

    A machine that offers only one core has both share it (`Cores.shared`).
    """
    cpus = frozenset(os.sched_getaffinity(0)) if available is None else available
    if not cpus:
        raise ValueError("there is no CPU to run on")
    judge = min(cpus)
    candidate = cpus - siblings(judge, topology)
    return Cores(judge, candidate or cpus)


def siblings(cpu: int, topology: Path = CPUS) -> frozenset[int]:
    """The CPUs (hyperthreads) of the core that `cpu` belongs to, itself included."""
    try:
        text = (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text("ascii")
        return frozenset({cpu}) | parse(text)
    except (OSError, ValueError):
        return frozenset({cpu})


def parse(text: str) -> frozenset[int]:
    """CPU numbers of the kernel's list format, for instance `0-3,8`. Raises ValueError."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


@contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """Run the calling thread on one CPU, with torch (if loaded) on this thread alone; undone afterwards.

    torch's worker threads would spin on the candidate's cores for a while after each call.
    """
    before = os.sched_getaffinity(0)
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch is not None else 0
    os.sched_setaffinity(0, {cpu})
    if torch is not None:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch is not None:
            torch.set_num_threads(threads)
        with suppress(OSError):  # A CPU may have gone offline, or left our cpuset, in the meantime.
            os.sched_setaffinity(0, before)
