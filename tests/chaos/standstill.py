"""Notices when this machine stands still: a whole that is frozen, or paused by its host, has lost nothing.

A real judge's deadlines pass meanwhile: an innocent program may end as too slow, and the audit must know why.
"""

import threading
import time

from tests.chaos.students import Log

TICK_SECONDS = 0.5
LEAST_SECONDS = 5.0
"""A tick that is late by so much is no matter of a busy machine."""


class Watch:
    """A thread that writes down every standstill, as soon as it is over."""

    def __init__(self, log: Log) -> None:
        self.seconds = 0.0
        """In all, so far."""
        self._log = log
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="standstill", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        before = time.monotonic()
        while not self._ended.wait(TICK_SECONDS):
            now = time.monotonic()
            if (late := now - before - TICK_SECONDS) > LEAST_SECONDS:
                self.seconds += late
                self._log.write("standstill", seconds=round(late, 1))
            before = now

    def close(self) -> None:
        """Watch no more."""
        self._ended.set()
        self._thread.join()
