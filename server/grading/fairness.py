"""Recent device time as one number that needs no update while time passes.

A second of device time counts half after `HALF_LIFE`. All of it fades alike, so the order between students
changes only when one of them uses a device: `log2(seconds) + time / HALF_LIFE` orders them at any time.
"""

import math
from datetime import datetime

HALF_LIFE = 3600.0
"""Seconds."""
_LEAST = 1e-6
"""Seconds: a job that took no measurable time still counts as use."""
_MOST = 2.0**60


def add(weight: float | None, seconds: float, now: datetime) -> float:
    """The weight of who had `weight` (None: never used a device) after `seconds` more that end now."""
    return math.log2(min(recent_seconds(weight, now) + max(seconds, _LEAST), _MOST)) + _age(now)


def recent_seconds(weight: float | None, now: datetime) -> float:
    """Device seconds that a weight stands for at a time, faded."""
    if weight is None:
        return 0.0
    # A clock that jumped back must not overflow.
    return math.exp2(min(weight - _age(now), 60.0))


def _age(now: datetime) -> float:
    return now.timestamp() / HALF_LIFE
