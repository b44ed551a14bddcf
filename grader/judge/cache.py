"""Evict the last-level cache, so that every timed call meets its inputs in DRAM.

What that takes says how fast the machine's memory is just then (see `judge.yardstick`).
"""

import time
from contextlib import suppress
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
DEFAULT_BYTES = 32 << 20
"""Assumed where the kernel does not say (some virtual machines)."""
LARGEST_BYTES = 512 << 20
"""Nothing larger is believed: virtual machines have been seen to report the sum of a whole host."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def last_level_bytes(cpu: int = 0, topology: Path = CPUS) -> int:
    """Size of the largest cache of the highest level that `cpu` can use, in bytes."""
    found: list[tuple[int, int]] = []
    for index in (topology / f"cpu{cpu}" / "cache").glob("index[0-9]*"):
        with suppress(OSError, ValueError):
            if (index / "type").read_text("ascii").strip() == "Instruction":
                continue
            found.append(
                (int((index / "level").read_text("ascii")), _size((index / "size").read_text("ascii")))
            )
    return min(max(found)[1], LARGEST_BYTES) if found else DEFAULT_BYTES


def _size(text: str) -> int:
    text = text.strip()
    unit = _UNITS.get(text[-1:], 1)
    return int(text[:-1] if unit > 1 else text) * unit


class Evictor:
    """Twice the last-level cache of the judge's own data.

    It is read, not written: dirty lines would have to be written back at the candidate's expense. What the
    judge has written into the arena lies in the caches of the cores that wrote it (writing took it from all
    others), so reading from each of these pushes it out to memory.
    """

    def __init__(self, llc_bytes: int) -> None:
        import torch

        # Ones, not zeros: untouched zero pages are all the same page of memory.
        self._halves = torch.ones(2, max(1, llc_bytes // 8), dtype=torch.int64)

    def stream(self) -> float:
        """Read all of it once; the seconds that the second half took.

        The first half has pushed out whatever others left in the caches, modified lines included: nobody can
        make the second one slow beforehand.
        """
        self._read(0)
        begin = time.perf_counter()
        self._read(1)
        return time.perf_counter() - begin

    def _read(self, half: int) -> None:
        if int(self._halves[half].sum()) != self._halves[half].numel():
            raise RuntimeError("the judge's own memory has changed")
