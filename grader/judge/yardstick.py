"""Is the machine's memory as fast around a round as it was when the machine was calibrated?

A virtual machine's neighbours take bandwidth for tenths of a second to minutes at a time. The judge copies
memory of its own on the candidate's cores before `go` and just after the confirmed freeze, while the
candidate stands still. A round counts only if both readings took little more than on the quiet machine: which
rounds count is decided by what no candidate can reach, never by their own times.
"""

import math
from collections.abc import Sequence

from grader.judge.cache import Evictor
from grader.judge.pool import CorePool

SLOWER = 1.25
"""A reading may take so many times what it takes on the quiet machine."""
QUANTILE = 0.1
"""Of the readings of a calibration: the quiet machine, but not its luckiest moment."""


def read(pool: CorePool, evictor: Evictor) -> float:
    """Copy memory of the judge's own on all its cores; the seconds of the slowest of the candidate's.

    What the candidate, or whoever else, has left modified in the caches is pushed out first: nobody can make
    a reading slow beforehand. A copy, since neighbours have been seen to slow down writing alone.
    """
    pool.everywhere(evictor.stream)
    seconds = pool.over(evictor.PARTS, evictor.copy)
    return max(seconds[1:] or seconds)  # The judge's own core comes first.


def quiet(readings: Sequence[float]) -> float:
    """What a reading takes on the quiet machine, from those of a calibration's rounds."""
    return sorted(readings)[math.floor(QUANTILE * len(readings))]
