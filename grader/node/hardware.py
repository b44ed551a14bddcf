"""A worker's hardware: one job at a time, and between jobs it is kept clean and the next judge is made ready.

A judge takes two seconds to load its libraries. The next one does so while nothing is graded here, and then
waits for its only job: a submission finds it ready, and nothing of the one before in it.
"""

import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import structlog

from grader.node import judge, orphans
from grader.node.lock import HardwareLock
from grader.node.settings import AHEAD, NodeSettings

TIDY_SECONDS = 60.0
"""How often an idle worker looks for what killed ones have left."""
LOAD_SECONDS = 60.0
"""A judge that is not ready after this is given up; its job then starts one for itself."""
RETRY_SECONDS = 1.0
"""Between two looks at hardware that another worker holds."""
_POLL_SECONDS = 0.02
log = structlog.get_logger(__name__)


class Held(NamedTuple):
    """The hardware while a job has it."""

    lock: Path
    judge: "subprocess.Popen[bytes] | None"
    """A judge that has loaded, or is loading, and waits for this job; None: there is none."""


class Hardware:
    """Shared by the thread that grades and one of its own. `start` begins, `stop` ends the waiting judge."""

    def __init__(self, settings: NodeSettings) -> None:
        self._lock = HardwareLock(settings.home, settings.hardware)
        self._command = (*settings.judge_command, AHEAD) if settings.judge_ahead else None
        self._turn = threading.Lock()
        """Whoever has it may take the hardware and touch the waiting judge."""
        self._job_waits = threading.Event()
        self._wake = threading.Event()
        self._stopping = False
        self._waiting: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="hardware", daemon=True)

    def start(self) -> None:
        """Begin to look after the hardware."""
        self._thread.start()

    def stop(self) -> None:
        """End the waiting judge. No job runs any more."""
        self._stopping = True
        self._job_waits.set()
        self._wake.set()
        if self._thread.is_alive():
            # Its end would be the end of every judge that it has started: they die with their parent thread.
            self._thread.join(2 * orphans.END_SECONDS)
        self._drop()

    @contextlib.contextmanager
    def held(self, interrupted: Callable[[], None]) -> Iterator[Held]:
        """Hold the hardware for one job, free of orphans.

        `interrupted` is called while waiting, and raises if the job must not go on. Raises OSError.
        """
        self._job_waits.set()
        try:
            while not self._turn.acquire(timeout=0.2):
                interrupted()
        finally:
            self._job_waits.clear()
        try:
            if not self._lock.held:  # Else the judge is still loading, under a lock that is ours from now on.
                self._lock.take(interrupted)
            orphans.reap(self._lock.path)
            yield Held(self._lock.path, self._hand_over())
        finally:
            self._lock.release()
            self._turn.release()
            self._wake.set()

    def _hand_over(self) -> subprocess.Popen[bytes] | None:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return None
        orphans.excuse_no_longer(self._lock.path, waiting.pid)
        if waiting.poll() is None:
            return waiting
        judge.discard(waiting)
        return None

    def _drop(self) -> None:
        """End the judge that waits, if one does."""
        waiting = self._hand_over()
        if waiting is not None:
            judge.discard(waiting)

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            with self._turn:
                pause = self._tidy()
            self._wake.wait(pause)

    def _tidy(self) -> float:
        """Look after the hardware if nobody uses it; returns the seconds until the next look."""
        try:
            # A job that was interrupted while it waited may have left the lock with us.
            if self._job_waits.is_set() or not (self._lock.held or self._lock.try_take()):
                return RETRY_SECONDS
            try:
                orphans.reap(self._lock.path)
                self._make_ready()
            finally:
                if not self._job_waits.is_set():
                    self._lock.release()
        except OSError as error:
            # A full disk or process table: the thread must go on, and a job will say what is wrong.
            log.warning("hardware not looked after", cause=repr(error))
        return TIDY_SECONDS

    def _make_ready(self) -> None:
        """Start the next judge and wait until it has loaded, or a job wants it as it is."""
        if self._waiting is not None and self._waiting.poll() is not None:
            log.warning("waiting judge ended", status=self._waiting.returncode)
            self._drop()
        if self._command is None or self._waiting is not None or self._stopping:
            return
        self._waiting = judge.start(self._command, self._lock.path)
        orphans.excuse(self._lock.path, self._waiting.pid)
        deadline = time.monotonic() + LOAD_SECONDS
        assert self._waiting.stdout is not None
        output = self._waiting.stdout.fileno()
        while not self._job_waits.is_set():
            # Its one line says that it is ready; the end of its output, that it will never be.
            if select.select([output], [], [], _POLL_SECONDS)[0]:
                if not os.read(output, 4096):
                    log.warning("judge not made ready", cause="it ended while it loaded")
                    self._drop()
                return
            if time.monotonic() > deadline:
                log.warning("judge not made ready", cause=f"not done after {LOAD_SECONDS:g} s")
                self._drop()
                return
