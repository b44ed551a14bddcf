"""What a session tells while it runs, and where its time went."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grader.contract import EVENT_TEXT_CHARS, Event, Phase, PhaseTime
from grader.plaintext import shorten


class Progress:
    """Numbers the events of one attempt and adds up the seconds of each step."""

    def __init__(self, attempt: int, emit: Callable[[Event], None]) -> None:
        self._attempt = attempt
        self._emit: Callable[[Event], None] | None = emit
        self._count = 0
        self._spent: dict[tuple[Phase, str], float] = {}
        self.phase = Phase.PREPARE
        """The last phase that began."""

    def event(
        self,
        phase: Phase,
        *,
        case: str | None = None,
        done: int | None = None,
        total: int | None = None,
        text: str = "",
    ) -> None:
        """Tell of one step."""
        if self._emit is None:
            return
        self._count += 1
        self._emit(
            Event(
                attempt=self._attempt,
                seq=self._count,
                time=time.time(),
                phase=phase,
                case=case,
                done=done,
                total=total,
                text=shorten(text, EVENT_TEXT_CHARS),
            )
        )

    @contextmanager
    def step(self, phase: Phase, step: str = "") -> Iterator[None]:
        """Count the time of what runs within; the first step of a phase is told as an event."""
        if self.phase is not phase or not self._spent:
            self.event(phase)
        self.phase = phase
        begin = time.monotonic()
        try:
            yield
        finally:
            self.add(phase, step, time.monotonic() - begin)

    def add(self, phase: Phase, step: str, seconds: float) -> None:
        """Count seconds that were measured elsewhere."""
        self._spent[phase, step] = self._spent.get((phase, step), 0.0) + seconds

    def times(self) -> tuple[PhaseTime, ...]:
        """All steps in the order in which they began."""
        return tuple(
            PhaseTime(phase=phase, step=step[:64], seconds=seconds)
            for (phase, step), seconds in self._spent.items()
        )

    def close(self) -> None:
        """Tell nothing more: the session was given up, its thread may still run."""
        self._emit = None
