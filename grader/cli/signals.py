"""Signals that end a command from outside take the same way out as Ctrl-C: nothing of it is left running.

An impatient second Ctrl-C must not break that off either; `grader.judge.watcher` ends what then hangs.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@contextmanager
def ending() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise SystemExit (128 + signal), SIGINT KeyboardInterrupt; one, once.

    From then on all are ignored, and the program ends. A signal that was ignored before stays so.
    """
    before = {number: signal.getsignal(number) for number in _ENDING}
    ended = False

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal ended
        ended = True
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)  # Cleaning up must not be broken off.
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    for number in _ENDING:
        if before[number] in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, end)
    try:
        yield
    finally:
        for number in _ENDING if not ended else ():
            signal.signal(number, before[number])
