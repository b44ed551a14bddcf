"""A schedule by the clock that never jumps.

Celery's own goes by the time of day: set back by an hour, it would not sweep for an hour.
"""

import time
from datetime import datetime

from celery import beat  # type: ignore[import-untyped]
from celery.schedules import schedstate, schedule  # type: ignore[import-untyped]

SCHEDULER = "server.tasks.schedule:Scheduler"


class Every(schedule):  # type: ignore[misc]
    """Due every so many seconds; what it is told of the time of day only says whether it has run."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self._seconds = seconds
        self._ran: datetime | None = None
        self._since = time.monotonic()

    def is_due(self, last_run_at: datetime) -> schedstate:
        """(whether it is due, seconds until the next look)."""
        if last_run_at != self._ran:
            self._ran, self._since = last_run_at, time.monotonic()
        left = self._since + self._seconds - time.monotonic()
        return schedstate(left <= 0, left if left > 0 else self._seconds)


class Scheduler(beat.Scheduler):  # type: ignore[misc]
    """Celery's scheduler in memory, which keeps its entries in the order of their times."""

    def _when(self, entry: beat.ScheduleEntry, next_time_to_run: float, **_: object) -> float:  # noqa: ARG002
        """When to look at an entry again: Celery's would be a time of day."""
        return time.monotonic() + (self.adjust(next_time_to_run) or 0.0)
