"""States of submissions and attempts, and the only changes between them, as data."""

from collections.abc import Mapping
from enum import StrEnum


class SubmissionState(StrEnum):
    """Where a submission is. The last three are final."""

    QUEUED = "queued"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    GRADER_ERROR = "grader_error"

    @property
    def is_final(self) -> bool:
        """Whether nothing happens any more unless a person asks for it."""
        return self in FINAL


class SubmissionEvent(StrEnum):
    """What can happen to a submission."""

    DISPATCH = "dispatch"
    START = "start"
    REPORT = "report"
    RETURN = "return"
    GIVE_UP = "give_up"
    CANCEL = "cancel"
    SUPERSEDE = "supersede"
    RERUN = "rerun"


FINAL = frozenset({SubmissionState.DONE, SubmissionState.CANCELLED, SubmissionState.GRADER_ERROR})
ACTIVE = frozenset({SubmissionState.DISPATCHED, SubmissionState.RUNNING})
"""With an open attempt: the student has this one under way, and no other."""

_S, _E = SubmissionState, SubmissionEvent
SUBMISSION_TRANSITIONS: Mapping[tuple[SubmissionState, SubmissionEvent], SubmissionState] = {
    (_S.QUEUED, _E.DISPATCH): _S.DISPATCHED,
    (_S.QUEUED, _E.CANCEL): _S.CANCELLED,
    (_S.QUEUED, _E.SUPERSEDE): _S.CANCELLED,
    (_S.QUEUED, _E.GIVE_UP): _S.GRADER_ERROR,
    (_S.DISPATCHED, _E.START): _S.RUNNING,
    (_S.DISPATCHED, _E.REPORT): _S.DONE,
    (_S.DISPATCHED, _E.RETURN): _S.QUEUED,
    (_S.DISPATCHED, _E.GIVE_UP): _S.GRADER_ERROR,
    (_S.DISPATCHED, _E.CANCEL): _S.CANCELLED,
    (_S.RUNNING, _E.REPORT): _S.DONE,
    (_S.RUNNING, _E.RETURN): _S.QUEUED,
    (_S.RUNNING, _E.GIVE_UP): _S.GRADER_ERROR,
    (_S.RUNNING, _E.CANCEL): _S.CANCELLED,
    (_S.DONE, _E.RERUN): _S.QUEUED,
    (_S.CANCELLED, _E.RERUN): _S.QUEUED,
    (_S.GRADER_ERROR, _E.RERUN): _S.QUEUED,
}  # fmt: skip


class AttemptState(StrEnum):
    """Where an attempt is. All but the first two are final."""

    PUBLISHED = "published"
    RUNNING = "running"
    REPORTED = "reported"
    FAILED = "failed"
    LOST = "lost"
    RETURNED = "returned"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether its token is current: a Report with it counts."""
        return self in OPEN


class AttemptEvent(StrEnum):
    """What can happen to an attempt."""

    CLAIM = "claim"
    REPORT = "report"
    FAIL = "fail"
    EXPIRE = "expire"
    RETURN = "return"
    CANCEL = "cancel"


OPEN = frozenset({AttemptState.PUBLISHED, AttemptState.RUNNING})

_A, _V = AttemptState, AttemptEvent
ATTEMPT_TRANSITIONS: Mapping[tuple[AttemptState, AttemptEvent], AttemptState] = {
    (_A.PUBLISHED, _V.CLAIM): _A.RUNNING,
    (_A.PUBLISHED, _V.REPORT): _A.REPORTED,
    (_A.PUBLISHED, _V.FAIL): _A.FAILED,
    (_A.PUBLISHED, _V.EXPIRE): _A.LOST,
    (_A.PUBLISHED, _V.CANCEL): _A.CANCELLED,
    (_A.RUNNING, _V.REPORT): _A.REPORTED,
    (_A.RUNNING, _V.FAIL): _A.FAILED,
    (_A.RUNNING, _V.EXPIRE): _A.LOST,
    (_A.RUNNING, _V.RETURN): _A.RETURNED,
    (_A.RUNNING, _V.CANCEL): _A.CANCELLED,
}  # fmt: skip


class TransitionError(ValueError):
    """The event cannot happen in that state."""


def next_submission(state: SubmissionState, event: SubmissionEvent) -> SubmissionState:
    """The state after the event; raises `TransitionError`."""
    try:
        return SUBMISSION_TRANSITIONS[state, event]
    except KeyError:
        raise TransitionError(f"a submission in state {state} cannot {event}") from None


def next_attempt(state: AttemptState, event: AttemptEvent) -> AttemptState:
    """The state after the event; raises `TransitionError`."""
    try:
        return ATTEMPT_TRANSITIONS[state, event]
    except KeyError:
        raise TransitionError(f"an attempt in state {state} cannot {event}") from None
