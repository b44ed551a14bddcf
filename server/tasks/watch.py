"""Ends a process of the server's queue that lives but takes nothing from it, so that another is started.

A connection can die without a word, with the broker's machine, or in a firewall that forgot it. Who only
waits on it never learns so: the process would look healthy for hours, while nothing is stored, dispatched or
swept.
"""

import os
import threading
import time
from collections.abc import Callable

import redis
import structlog

from grader.contract import SERVER_QUEUE

LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 30.0
"""Messages that wait so long, while this process has nothing to do and nobody takes one, do not reach it."""
log = structlog.get_logger(__name__)


class Watch:
    """Told of each task's `begin` and `end` by the thread that works; `run` looks, in a thread of its own.

    `waiting` counts the messages in the queue over another connection; what it raises proves nothing.
    """

    def __init__(self, waiting: Callable[[], int], *, patience: float) -> None:
        self._waiting = waiting
        self._patience = patience
        self._busy = False
        self._taken = 0
        self._seen = (0, 0)
        """Tasks taken, and messages waiting, at the last look."""
        self._since: float | None = None

    def begin(self) -> None:
        """A task has reached this process."""
        self._busy = True
        self._taken += 1

    def end(self) -> None:
        """It is done."""
        self._busy = False

    def deaf(self, now: float) -> bool:
        """Look once; whether messages have waited in vain for too long. `now` is of the monotonic clock."""
        before, taken = self._seen, self._taken
        try:
            waiting = self._waiting()
        except redis.RedisError:
            self._since = None
            return False
        self._seen = taken, waiting
        if self._busy or taken != before[0] or not waiting or waiting < before[1]:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._patience

    def run(self, stopping: threading.Event) -> None:
        """Look until `stopping`; end the process when it is deaf. What it did not take, another one will."""
        while not stopping.wait(min(LOOK_SECONDS, self._patience / 4)):
            if self.deaf(time.monotonic()):
                log.critical("ended: it lives, but no message reaches it", queue=SERVER_QUEUE)
                os._exit(os.EX_TEMPFAIL)
