"""Is the machine's memory as fast around a round as it was when the machine was calibrated?

A virtual machine's neighbours take bandwidth for tenths of a second to minutes at a time. The judge reads
memory of its own on the candidate's cores just before `go` and just after the confirmed freeze, while the
candidate stands still. A round counts only if both readings took little more than on the quiet machine: which
rounds count is decided by what no candidate can reach, never by their own times.
"""

import math
import time

from grader.judge import cores
from grader.judge.cache import Evictor, last_level_bytes
from grader.judge.pool import CorePool

SLOWER = 1.25
"""A reading may take so many times what it takes on the quiet machine."""
READINGS = 200
QUANTILE = 0.1
"""Of the readings of a calibration: the quiet machine, but not its luckiest moment."""
_PAUSE_SECONDS = 0.02


def measure(readings: int = READINGS) -> float:
    """Seconds of a reading on the quiet machine, with no candidate there; it takes some seconds."""
    pool = CorePool(cores.choose())
    evictor = Evictor(last_level_bytes())
    found = []
    try:
        for _ in range(readings):
            found.append(read(pool, evictor))
            time.sleep(_PAUSE_SECONDS)
    finally:
        pool.close()
    return sorted(found)[math.floor(QUANTILE * len(found))]


def read(pool: CorePool, evictor: Evictor) -> float:
    """Evict the caches of all cores; seconds that reading takes on the slowest of the candidate's."""
    seconds = pool.everywhere(evictor.stream)
    return max(seconds[1:] or seconds)  # The judge's own core comes first.
