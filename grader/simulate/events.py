"""The core of a simulator: things that happen at whole nanoseconds of a clock of its own, in one order.

Equal answers give equal times on every machine: nothing here looks at a real clock, and what happens at one
nanosecond happens in the order in which it was planned.
"""

import heapq
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Event = TypeVar("Event")


class PastError(ValueError):
    """Something was planned for a time that is over."""


@dataclass
class Loop(Generic[Event]):
    """A virtual clock and what is to come. Times are integers, in nanoseconds from the start."""

    now: int = 0
    _planned: list[tuple[int, int, Event]] = field(default_factory=list)
    _count: int = 0

    def at(self, time: int, event: Event) -> None:
        """Plan an event. Raises PastError for a time before now, TypeError for one that is no integer."""
        if not isinstance(time, int) or isinstance(time, bool):
            raise TypeError(f"a time is a whole number of nanoseconds, not {time!r}")
        if time < self.now:
            raise PastError(f"{time} ns is over; it is {self.now} ns")
        heapq.heappush(self._planned, (time, self._count, event))
        self._count += 1

    def after(self, delay: int, event: Event) -> None:
        """Plan an event `delay` nanoseconds from now."""
        self.at(self.now + delay, event)

    def next(self) -> Event | None:
        """The next event, with the clock set to its time; None if nothing is planned."""
        if not self._planned:
            return None
        self.now, _, event = heapq.heappop(self._planned)
        return event

    def clear(self) -> None:
        """Forget what was planned; the clock stands where it is."""
        self._planned.clear()

    def __len__(self) -> int:
        return len(self._planned)
