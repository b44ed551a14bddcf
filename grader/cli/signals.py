"""Signals that end a command from outside take the same way out as Ctrl-C: nothing of it is left running."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise SystemExit (128 + signal), once; a signal that is ignored stays so."""
    before = {number: signal.getsignal(number) for number in _ENDING}

    def end(number: int, _frame: FrameType | None) -> None:
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)  # Cleaning up must not be broken off.
        raise SystemExit(128 + number)

    for number in _ENDING:
        if before[number] is signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number in _ENDING:
            signal.signal(number, before[number])
