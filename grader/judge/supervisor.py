"""Puts a deadline on the judge's own calls: an oracle that hangs, or that a candidate manages to block.

The session runs in a thread of its own. Before a call into the assignment's code it says how long that may
take; the supervisor, in the caller's thread, kills the candidate when the time is over, since what blocks may
be its doing, and gives the session up if that does not free it. A call that holds the interpreter stops this
thread too; `grader.judge.watcher` then ends the judge from outside.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from grader.judge.failure import AssignmentFault
from grader.judge.watcher import Watcher
from grader.sandbox.base import SandboxError
from grader.sandbox.held import HeldProcess

GRACE_SECONDS = 5.0
"""Between the candidate's end and giving the session up."""
OUTSIDE_SECONDS = 15.0
"""Between a deadline and the end of a judge in which not even this thread runs."""
_POLL_SECONDS = 0.1

Result = TypeVar("Result")


class Killable(Protocol):
    """What is killed when a call of the judge takes too long."""

    def kill(self) -> None:
        """End it now; called from another thread."""
        ...


class Supervisor:
    """Watches one session. `attach` and `detach` name the candidates that are alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._candidates: list[Killable] = []
        self._watched: tuple[str, float] | None = None
        self._overrun: str | None = None
        self._watcher: Watcher | None = None

    def attach(self, candidate: Killable) -> None:
        """From now on this candidate dies when a watched call passes its deadline."""
        with self._lock:
            self._candidates.append(candidate)

    def detach(self, candidate: Killable) -> None:
        """The candidate is gone."""
        with self._lock, suppress(ValueError):
            self._candidates.remove(candidate)

    @contextmanager
    def watch(self, what: str, seconds: float) -> Iterator[None]:
        """Within, a call of the judge that may take so long. Raises AssignmentFault if it took longer.

        Watches may be nested; the inner one counts while it lasts.
        """
        with self._lock:
            outer, self._watched = self._watched, (what, time.monotonic() + seconds)
            self._tell()
        try:
            yield
        finally:
            with self._lock:
                self._watched = outer
                self._tell()
                overrun, self._overrun = self._overrun, None
            if overrun is not None:
                # Whatever the killed candidate made of it, this is what happened first.
                raise _fault(overrun)

    def run(self, session: Callable[[], Result]) -> Result:
        """Run a session to its end in a thread, and see to its watches.

        Raises what it raises, or AssignmentFault for a call that did not come back at all; its thread is then
        left behind. An interrupt (KeyboardInterrupt) kills the candidates before it goes on.
        """
        outcome: list[Result] = []
        failure: list[Exception] = []

        def body() -> None:
            try:
                outcome.append(session())
            except Exception as error:  # noqa: BLE001 (goes on in the caller's thread)
                failure.append(error)
            except BaseException:  # noqa: BLE001 (no signal comes to this thread: the task's code raised it)
                failure.append(AssignmentFault("task.py", traceback.format_exc()))

        thread = threading.Thread(target=body, name="solmark-session", daemon=True)
        self._watcher = Watcher()
        try:
            thread.start()
            while thread.is_alive():
                thread.join(_POLL_SECONDS)
                self._check(thread)
        except BaseException:
            self._kill()
            thread.join(GRACE_SECONDS)
            raise
        finally:
            with self._lock:
                watcher, self._watcher = self._watcher, None
            watcher.close()
        if failure:
            raise failure[0]
        return outcome[0]

    def _check(self, thread: threading.Thread) -> None:
        with self._lock:
            watched = self._watched
            if watched is None or time.monotonic() <= watched[1]:
                return
            self._overrun = watched[0]
            if self._watcher is not None:
                # This thread runs, and the kernel may need its time to take a candidate apart.
                most = HeldProcess.END_SECONDS * len(self._candidates) + GRACE_SECONDS + OUTSIDE_SECONDS
                self._watcher.tell(watched[0], time.monotonic() + most)
        self._kill()
        limit = time.monotonic() + GRACE_SECONDS
        while thread.is_alive() and self._watched is watched:
            if time.monotonic() > limit:
                raise _fault(watched[0])
            thread.join(_POLL_SECONDS)

    def _tell(self) -> None:
        """Pass what is watched now on to the watcher outside."""
        if self._watcher is None:
            return
        if self._watched is None:
            self._watcher.rest()
        else:
            what, deadline = self._watched
            self._watcher.tell(what, deadline + OUTSIDE_SECONDS)

    def _kill(self) -> None:
        with self._lock:
            candidates = list(self._candidates)
        for candidate in candidates:
            with suppress(SandboxError):
                candidate.kill()


def _fault(what: str) -> AssignmentFault:
    return AssignmentFault(what, f"{what} did not come back within its time")
