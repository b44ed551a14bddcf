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
    """Twice the last-level cache of the judge's own data, and room for a copy of half of it.

    Caches are evicted by reading, not by writing: dirty lines would have to be written back at the expense of
    the candidate. What the judge has written into the arena lies in the caches of the cores that wrote it
    (writing took it from all others), so reading from each of these pushes it out to memory.
    """

    PARTS = 64
    """Into so many parts is what `copy` copies divided, so that several cores can share it."""

    def __init__(self, llc_bytes: int) -> None:
        import torch

        # Ones, not zeros: untouched zero pages are all the same page of memory.
        self._data = torch.ones(2, self.PARTS, max(1, llc_bytes // 8 // self.PARTS), dtype=torch.int64)
        self._target = torch.ones_like(self._data[0])

    def stream(self) -> None:
        """Read all of it once."""
        self._read(0)
        self._read(1)

    def copy(self, parts: range) -> float:
        """Copy these parts of one half; the seconds it took, memory read and written."""
        source, target = self._data[0, parts.start : parts.stop], self._target[parts.start : parts.stop]
        begin = time.perf_counter()
        target.copy_(source)
        return time.perf_counter() - begin

    def _read(self, half: int) -> None:
        if int(self._data[half].sum()) != self._data[half].numel():
            raise RuntimeError("the judge's own memory has changed")
