"""SQL behind the metrics. Each statement is answered from an index."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.db.models import Assignment, Attempt, Node, Submission, Worker
from server.db.models.node import NodeState
from server.grading.states import OPEN, AttemptState, SubmissionState


def submissions(session: Session) -> Sequence[tuple[SubmissionState, str, int]]:
    """(state, hardware, number) of all submissions."""
    rows = session.execute(
        select(Submission.state, Submission.hardware, func.count()).group_by(
            Submission.state, Submission.hardware
        )
    )
    return [(state, hardware, count) for state, hardware, count in rows]


def queues(session: Session) -> Sequence[tuple[str, int, datetime]]:
    """(hardware, number, since when the longest waiting one waits) of what is queued."""
    rows = session.execute(
        select(Submission.hardware, func.count(), func.min(Submission.queued))
        .where(Submission.state == SubmissionState.QUEUED)
        .group_by(Submission.hardware)
    )
    return [(hardware, count, since) for hardware, count, since in rows]


def ended_attempts(session: Session) -> Sequence[tuple[AttemptState, int]]:
    """(state, number) of the attempts that are over."""
    rows = session.execute(
        select(Attempt.state, func.count()).where(Attempt.state.not_in(OPEN)).group_by(Attempt.state)
    )
    return [(state, count) for state, count in rows]


def open_attempts(session: Session) -> Sequence[tuple[AttemptState, str, int]]:
    """(state, hardware, number) of the attempts that are not over."""
    rows = session.execute(
        select(Attempt.state, Attempt.hardware, func.count())
        .where(Attempt.state.in_(OPEN))
        .group_by(Attempt.state, Attempt.hardware)
    )
    return [(state, hardware, count) for state, hardware, count in rows]


def expired_leases(session: Session) -> int:
    """Attempts that a worker had begun and that were taken from it, because their lease was over."""
    return session.scalar(
        select(func.count()).where(Attempt.state == AttemptState.LOST, Attempt.started.is_not(None))
    ) or 0  # fmt: skip


def nodes(session: Session) -> Sequence[tuple[NodeState, int]]:
    """(state, number) of nodes."""
    rows = session.execute(select(Node.state, func.count()).group_by(Node.state))
    return [(state, count) for state, count in rows]


def quarantined(session: Session) -> int:
    """Assignments that are in quarantine."""
    return session.scalar(select(func.count()).where(Assignment.quarantined.is_not(None))) or 0


def workers(session: Session) -> Sequence[Worker]:
    """All workers with their nodes."""
    return session.scalars(select(Worker)).all()


def wait(session: Session, public_id: str, number: int) -> tuple[str, float] | None:
    """(hardware, seconds) that a submission waited for an attempt to begin; None if one before it failed."""
    found = session.execute(
        select(Submission.hardware, Submission.queued, Attempt.started)
        .join(Attempt.submission)
        .where(Submission.public_id == public_id, Attempt.number == number, Submission.failed_attempts == 0)
    ).one_or_none()
    if found is None or found.started is None:
        return None
    return found.hardware, max(0.0, (found.started - found.queued).total_seconds())
