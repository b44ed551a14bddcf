"""The doors of grading: queue, workers, Reports, and what people may do to a submission.

Each part has a module of its own; callers outside this package import this one only.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from grader.contract import Reason
from server.db.audit import record
from server.db.base import utc_now
from server.db.models import Attempt, Submission, User
from server.db.session import Job, publish_after_commit
from server.errors import WrongState
from server.grading import queries
from server.grading.lifecycle import finish_attempt, move
from server.grading.queue import (
    Place,
    Sweep,
    dispatch,
    expected_seconds,
    job_spec,
    open_attempt,
    place,
    sweep,
)
from server.grading.reports import Stored, current_report, store_report
from server.grading.states import AttemptEvent, SubmissionEvent
from server.grading.workers import (
    Heartbeat,
    claim,
    claimed_attempt,
    heartbeat,
    job_blob,
    node_by_token,
    register_node,
    return_job,
    set_node_state,
    store_log,
    workers,
)

__all__ = [
    "Heartbeat",
    "Place",
    "Stored",
    "Sweep",
    "attempts",
    "cancel",
    "claim",
    "claimed_attempt",
    "current_report",
    "dispatch",
    "expected_seconds",
    "heartbeat",
    "job_blob",
    "job_spec",
    "node_by_token",
    "open_attempt",
    "place",
    "register_node",
    "rerun",
    "return_job",
    "set_node_state",
    "store_log",
    "store_report",
    "sweep",
    "workers",
]


def attempts(session: Session, submission: Submission) -> Sequence[Attempt]:
    """All attempts of a submission, in order."""
    return queries.attempts(session, submission)


def cancel(session: Session, submission: Submission, *, by: User, now: datetime | None = None) -> None:
    """Stop a submission that is not final; it costs nothing. Raises `WrongState`."""
    now = now or utc_now()
    submission = queries.lock_submission(session, submission.id)
    if submission.state.is_final:
        raise WrongState(action="cancel", state=submission.state.value)
    for attempt in queries.open_attempts(session, submission):
        finish_attempt(attempt, AttemptEvent.CANCEL, now)
        publish_after_commit(
            session,
            Job(
                "cancel",
                {
                    "token": attempt.token,
                    "submission": submission.public_id,
                    "attempt": attempt.number,
                    "node": attempt.node,
                },
            ),
        )
    submission.cancel_requested = True
    submission.finished = now
    move(session, submission, SubmissionEvent.CANCEL)
    record(session, "submission.cancel", submission.public_id, actor=by, course_id=submission.course_id)
    publish_after_commit(session, Job("dispatch"))


def rerun(
    session: Session, submission: Submission, *, by: User, reason: Reason, now: datetime | None = None
) -> None:
    """Queue a final submission again. What was found before counts until the new Report comes.

    Raises `WrongState`. Who may ask is the caller's question.
    """
    now = now or utc_now()
    submission = queries.lock_submission(session, submission.id)
    if not submission.state.is_final:
        raise WrongState(action="rerun", state=submission.state.value)
    move(session, submission, SubmissionEvent.RERUN)
    submission.reason = reason
    submission.queued = now
    submission.finished = None
    submission.failed_attempts = 0
    submission.cancel_requested = False
    record(session, "submission.rerun", submission.public_id, actor=by, course_id=submission.course_id)
    publish_after_commit(session, Job("dispatch"))
