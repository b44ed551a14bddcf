"""One answer of a check."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Whether it holds; a warning does not fail the check."""

    HOLDS = "holds"
    WARNING = "warning"
    FAILS = "fails"


@dataclass(frozen=True)
class Finding:
    """What was looked at, and what was found: one line each."""

    subject: str
    state: State
    text: str
    seconds: float | None = None
    """Of a grading: how long it took."""


def holds(subject: str, text: str, seconds: float | None = None) -> Finding:
    """It is as it should be."""
    return Finding(subject, State.HOLDS, text, seconds)


def fails(subject: str, text: str, seconds: float | None = None) -> Finding:
    """It is not."""
    return Finding(subject, State.FAILS, text, seconds)


def warning(subject: str, text: str) -> Finding:
    """It may be right, but somebody should look."""
    return Finding(subject, State.WARNING, text)
