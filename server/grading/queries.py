"""SQL on the queue, attempts, workers, Reports and scores."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Subquery, and_, case, delete, func, select, text, update
from sqlalchemy.orm import Session, aliased, joinedload

from grader.contract import Reason
from server.db.models import (
    Attempt,
    AttemptBlob,
    CaseResult,
    Node,
    Report,
    Score,
    Submission,
    SubmissionFile,
    Worker,
)
from server.db.models.node import NodeState
from server.grading.states import OPEN, AttemptState, SubmissionState

RECENT = timedelta(hours=1)
"""Device time of this last while decides who comes first."""
AGED = timedelta(minutes=10)
"""Who has waited for so long goes before all who have not."""
_ACTIVE = (SubmissionState.DISPATCHED, SubmissionState.RUNNING)
_DISPATCH_LOCK = 0x50_1A_4B


def lock_submission(session: Session, submission_id: int) -> Submission:
    """The submission, fresh and locked until the transaction ends: it guards attempts and results too."""
    return session.scalars(
        select(Submission)
        .where(Submission.id == submission_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).one()


def lock_dispatch(session: Session) -> None:
    """Wait for any other dispatcher, so that two of them do not fill the same free worker."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _DISPATCH_LOCK})


def ranking(hardware: str, now: datetime, *conditions: ColumnElement[bool]) -> Subquery:
    """The queue of a hardware class, fairest first: columns id, expected_seconds, turn (in the team), place.

    Each team's first come before anybody's second; then who has waited too long, interactive before rejudge,
    who used least device time lately, who came first.
    """
    recent = (
        select(Attempt.team_id, func.sum(Attempt.device_seconds).label("seconds"))
        .where(Attempt.finished >= now - RECENT)
        .group_by(Attempt.team_id)
        .subquery()
    )
    rejudged = case((Submission.reason == Reason.REJUDGE, 1), else_=0)
    turn = func.row_number().over(
        partition_by=Submission.team_id, order_by=(rejudged, Submission.queued, Submission.id)
    )
    waiting = (
        select(
            Submission.id,
            Submission.expected_seconds,
            Submission.queued,
            turn.label("turn"),
            rejudged.label("rejudged"),
            case((Submission.queued < now - AGED, 0), else_=1).label("fresh"),
            func.coalesce(recent.c.seconds, 0.0).label("recent"),
        )
        .outerjoin(recent, recent.c.team_id == Submission.team_id)
        .where(Submission.state == SubmissionState.QUEUED, Submission.hardware == hardware, *conditions)
        .subquery()
    )
    column = waiting.c
    order = (column.turn, column.fresh, column.rejudged, column.recent, column.queued, column.id)
    place = func.row_number().over(order_by=order)
    return select(column.id, column.expected_seconds, column.turn, place.label("place")).subquery()


def choose_next(session: Session, hardware: str, limit: int, now: datetime) -> Sequence[Submission]:
    """The next submissions to dispatch, locked: at most one of each team, none of a team with one under way.

    Rows that another transaction holds (a cancel, a second dispatcher) are passed over.
    """
    other = aliased(Submission)
    busy = select(other.id).where(other.team_id == Submission.team_id, other.state.in_(_ACTIVE)).exists()
    ranked = ranking(hardware, now, ~busy)
    chosen = session.scalars(
        select(ranked.c.id).where(ranked.c.turn == 1).order_by(ranked.c.place).limit(limit)
    ).all()
    if not chosen:
        return []
    place = {submission_id: index for index, submission_id in enumerate(chosen)}
    found = session.scalars(
        select(Submission)
        .where(Submission.id.in_(chosen), Submission.state == SubmissionState.QUEUED)
        .with_for_update(key_share=True, skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()
    return sorted(found, key=lambda submission: place[submission.id])


def queue_before(session: Session, submission: Submission, now: datetime) -> tuple[int, float] | None:
    """How many queued submissions go first, and their expected device seconds; None if it is not queued."""
    ranked = ranking(submission.hardware, now)
    own = session.scalar(select(ranked.c.place).where(ranked.c.id == submission.id))
    if own is None:
        return None
    seconds = func.coalesce(func.sum(ranked.c.expected_seconds), 0.0)
    count, total = session.execute(select(func.count(), seconds).where(ranked.c.place < own)).one()
    return count, float(total)


def queued_hardware(session: Session) -> Sequence[str]:
    """Hardware classes for which something is queued."""
    return session.scalars(
        select(Submission.hardware).where(Submission.state == SubmissionState.QUEUED).distinct()
    ).all()


def live_workers(session: Session, hardware: str, since: datetime) -> int:
    """Workers of a hardware class that were heard of since then and take jobs."""
    return session.scalar(
        select(func.count())
        .select_from(Worker)
        .join(Worker.node)
        .where(
            Worker.hardware == hardware,
            Worker.last_heartbeat >= since,
            Worker.state == NodeState.ACTIVE,
            Node.state == NodeState.ACTIVE,
        )
    ) or 0  # fmt: skip


def count_attempts(session: Session, hardware: str, states: Collection[AttemptState] = OPEN) -> int:
    """Attempts of a hardware class in these states."""
    return session.scalar(
        select(func.count())
        .select_from(Attempt)
        .where(Attempt.state.in_(states), Attempt.hardware == hardware)
    ) or 0  # fmt: skip


def last_attempt_number(session: Session, submission: Submission) -> int:
    """Number of the latest attempt, 0 if there was none."""
    return session.scalar(
        select(func.max(Attempt.number)).where(Attempt.submission_id == submission.id)
    ) or 0  # fmt: skip


def attempt_by_token(session: Session, token: str) -> Attempt | None:
    """The attempt of that token, with its submission."""
    return session.scalar(
        select(Attempt).options(joinedload(Attempt.submission)).where(Attempt.token == token)
    )


def attempt_by_number(session: Session, public_id: str, number: int) -> Attempt | None:
    """An attempt of a submission by its number."""
    return session.scalar(
        select(Attempt)
        .join(Attempt.submission)
        .where(Submission.public_id == public_id, Attempt.number == number)
    )


def open_attempts(session: Session, submission: Submission) -> Sequence[Attempt]:
    """Attempts of the submission whose tokens are current (at most one)."""
    return session.scalars(
        select(Attempt)
        .where(Attempt.submission_id == submission.id, Attempt.state.in_(OPEN))
        .execution_options(populate_existing=True)
    ).all()


def attempts(session: Session, submission: Submission) -> Sequence[Attempt]:
    """All attempts of a submission, in order."""
    return session.scalars(
        select(Attempt).where(Attempt.submission_id == submission.id).order_by(Attempt.number)
    ).all()


def expired(session: Session, now: datetime, limit: int) -> Sequence[tuple[int, int]]:
    """(attempt id, submission id) of open attempts whose lease is over, oldest first."""
    rows = session.execute(
        select(Attempt.id, Attempt.submission_id)
        .where(Attempt.state.in_(OPEN), Attempt.lease_until < now)
        .order_by(Attempt.lease_until)
        .limit(limit)
    )
    return [(attempt_id, submission_id) for attempt_id, submission_id in rows]


def refresh_attempt(session: Session, attempt_id: int) -> Attempt:
    """The attempt as it is now; call it after `lock_submission`."""
    return session.scalars(
        select(Attempt).where(Attempt.id == attempt_id).execution_options(populate_existing=True)
    ).one()


def attempt_blobs(session: Session, attempt: Attempt) -> set[str]:
    """Digests of all blobs that the worker of this attempt may fetch."""
    submission = attempt.submission
    files = session.scalars(
        select(SubmissionFile.sha256).where(SubmissionFile.submission_id == submission.id)
    )
    return {submission.version.digest, *files}


def uploaded_blobs(session: Session, attempt: Attempt) -> set[str]:
    """Digests of the logs uploaded for this attempt."""
    return set(session.scalars(select(AttemptBlob.sha256).where(AttemptBlob.attempt_id == attempt.id)))


def node_by_token(session: Session, token_digest: str) -> Node | None:
    """The node whose token has that digest."""
    return session.scalar(select(Node).where(Node.token_digest == token_digest))


def node_by_name(session: Session, name: str) -> Node | None:
    """The node of that name."""
    return session.scalar(select(Node).where(Node.name == name))


def worker(session: Session, node: Node, name: str) -> Worker | None:
    """A worker of a node by name."""
    return session.scalar(select(Worker).where(Worker.node_id == node.id, Worker.name == name))


def workers(session: Session) -> Sequence[Worker]:
    """All workers with their nodes, by hardware and name."""
    return session.scalars(
        select(Worker).options(joinedload(Worker.node)).order_by(Worker.hardware, Worker.name)
    ).all()


def current_report(session: Session, submission: Submission) -> Report | None:
    """The Report that counts, if there is one."""
    return session.scalar(select(Report).where(Report.submission_id == submission.id, Report.current))


def report_of(session: Session, attempt: Attempt) -> Report | None:
    """The Report of one attempt, current or not."""
    return session.scalar(select(Report).where(Report.attempt_id == attempt.id))


def retire_results(session: Session, submission: Submission) -> None:
    """What was found so far counts no more; Reports and scores stay for audit."""
    session.execute(
        update(Report).where(Report.submission_id == submission.id, Report.current).values(current=False)
    )
    session.execute(
        update(Score).where(Score.submission_id == submission.id, Score.current).values(current=False)
    )
    session.execute(delete(CaseResult).where(CaseResult.submission_id == submission.id))


def average_seconds(session: Session, assignment_id: int, hardware: str, mode: str) -> float | None:
    """Mean charged device seconds of the last twenty finished submissions of the same kind."""
    last = (
        select(Submission.charged_seconds)
        .where(
            Submission.assignment_id == assignment_id,
            and_(Submission.hardware == hardware, Submission.mode == mode),
            Submission.charged_seconds > 0,
        )
        .order_by(Submission.created.desc())
        .limit(20)
        .subquery()
    )
    return session.scalar(select(func.avg(last.c.charged_seconds)))
