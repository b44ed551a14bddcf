"""SQL on attempts, workers, Reports and scores; that of the queue is in `queue_queries`."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Insert, and_, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session, joinedload

from grader.contract import Mode, Reason, Verdict
from server.db.base import one_of
from server.db.models import (
    Assignment,
    Attempt,
    AttemptBlob,
    CaseResult,
    DeviceUsage,
    Node,
    Report,
    Score,
    Submission,
    SubmissionFile,
    Worker,
)
from server.db.models.report import Review
from server.grading.states import OPEN, AttemptState, SubmissionState


def lock_submission(session: Session, submission_id: int) -> Submission:
    """The submission, fresh and locked until the transaction ends: it guards attempts and results too."""
    return session.scalars(
        select(Submission)
        .where(Submission.id == submission_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).one()


def lock_free_submission(session: Session, submission_id: int) -> Submission | None:
    """The same for who has others to look after: None, at once, if another transaction holds it."""
    return session.scalars(
        select(Submission)
        .where(Submission.id == submission_id)
        .with_for_update(key_share=True, skip_locked=True)
        .execution_options(populate_existing=True)
    ).one_or_none()


def usage_for_update(session: Session, user_id: int, now: datetime) -> DeviceUsage:
    """A student's recent use of devices, locked; made if it is not there."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    made: Insert = (
        dialect.insert(DeviceUsage)
        .values(user_id=user_id, weight=0.0, served=now)
        .on_conflict_do_nothing(index_elements=[DeviceUsage.user_id])
    )
    session.execute(made)
    return session.scalars(
        select(DeviceUsage)
        .where(DeviceUsage.user_id == user_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).one()


def queue_again(
    session: Session,
    assignment: Assignment,
    states: Collection[SubmissionState],
    state: SubmissionState,
    mode: Mode | None,
    now: datetime,
) -> Sequence[str]:
    """Bring an assignment's submissions from `states` to `state` as rejudges, in one statement; their ids."""
    conditions = [Submission.assignment_id == assignment.id, Submission.state.in_(states)]
    if mode is not None:
        conditions.append(Submission.mode == mode)
    return session.scalars(
        update(Submission)
        .where(*conditions)
        .values(
            state=state, reason=Reason.REJUDGE, queued=now, finished=None, failed_attempts=0,
            cancel_requested=False,
        )
        .returning(Submission.public_id)
        .execution_options(synchronize_session=False)
    ).all()  # fmt: skip


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
        .where(Attempt.submission_id == submission.id, one_of(Attempt.state, OPEN))
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
        .where(one_of(Attempt.state, OPEN), Attempt.lease_until < now)
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


def running_attempts(session: Session, node: Node) -> Sequence[tuple[int, int]]:
    """(attempt id, submission id) of what the workers of a node have claimed."""
    rows = session.execute(
        select(Attempt.id, Attempt.submission_id)
        .where(one_of(Attempt.state, OPEN), Attempt.state == AttemptState.RUNNING, Attempt.node == node.name)
        .order_by(Attempt.submission_id)
    )
    return [(attempt_id, submission_id) for attempt_id, submission_id in rows]


def jobs_of_workers(session: Session) -> dict[int, Attempt]:
    """By worker's id, the attempt that it has claimed last and not finished, with its submission."""
    rows = session.scalars(
        select(Attempt)
        .options(joinedload(Attempt.submission))
        .where(one_of(Attempt.state, OPEN), Attempt.state == AttemptState.RUNNING)
    )
    # Sorted and sifted here: SQLite would walk along a whole index to do it.
    latest = sorted(rows, key=lambda row: row.id)
    return {row.worker_id: row for row in latest if row.worker_id is not None}


def failures(
    session: Session, verdicts: Collection[Verdict], since: datetime
) -> Sequence[tuple[str, int, int, datetime]]:
    """(node, assignment id, student's id, time) of attempts that ended with these verdicts since then."""
    rows = session.execute(
        select(Attempt.node, Submission.assignment_id, Submission.user_id, Attempt.finished)
        .join(Attempt.submission)
        .where(Attempt.finished >= since, Attempt.verdict.in_(verdicts), Attempt.node != "")
        .order_by(Attempt.finished)
    )
    return [(node, assignment, user, time) for node, assignment, user, time in rows if time is not None]


def successes(
    session: Session, verdicts: Collection[Verdict], since: datetime
) -> Sequence[tuple[str, int, datetime]]:
    """(node, assignment id, latest time) of attempts with a Report that counts and none of these verdicts."""
    rows = session.execute(
        select(Attempt.node, Submission.assignment_id, func.max(Attempt.finished))
        .join(Attempt.submission)
        .where(
            Attempt.finished >= since,
            Attempt.state == AttemptState.REPORTED,
            Attempt.verdict.not_in(verdicts),
            Attempt.node != "",
        )
        .group_by(Attempt.node, Submission.assignment_id)
    )
    return [(node, assignment, time) for node, assignment, time in rows if time is not None]


def uploaded_blobs(session: Session, attempt: Attempt) -> set[str]:
    """Digests of the logs uploaded for this attempt."""
    return set(session.scalars(select(AttemptBlob.sha256).where(AttemptBlob.attempt_id == attempt.id)))


def node_by_token(session: Session, token_digest: str) -> Node | None:
    """The node whose token has that digest."""
    return session.scalar(select(Node).where(Node.token_digest == token_digest))


def node_by_name(session: Session, name: str) -> Node | None:
    """The node of that name."""
    return session.scalar(select(Node).where(Node.name == name))


def nodes(session: Session) -> Sequence[Node]:
    """All nodes, by name."""
    return session.scalars(select(Node).order_by(Node.name)).all()


def assignments(session: Session, ids: Collection[int]) -> Sequence[Assignment]:
    """Assignments by id, with their courses."""
    return session.scalars(
        select(Assignment).options(joinedload(Assignment.course)).where(Assignment.id.in_(ids))
    ).all()


def quarantined_assignments(session: Session, course_ids: Collection[int]) -> Sequence[Assignment]:
    """Assignments of these courses of which nothing is graded."""
    return session.scalars(
        select(Assignment)
        .options(joinedload(Assignment.course))
        .where(Assignment.quarantined.is_not(None), Assignment.course_id.in_(course_ids))
        .order_by(Assignment.quarantined)
    ).all()


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


def current_score(session: Session, submission: Submission) -> Score | None:
    """The score that counts, if there is one."""
    return session.scalar(select(Score).where(Score.submission_id == submission.id, Score.current))


def to_review(session: Session, course_ids: Collection[int]) -> Sequence[Submission]:
    """Submissions of these courses whose current score waits for staff, oldest first."""
    return session.scalars(
        select(Submission)
        .options(joinedload(Submission.team), joinedload(Submission.assignment))
        .join(Score, Score.submission_id == Submission.id)
        .where(Score.course_id.in_(course_ids), one_of(Score.review, {Review.WAITING}), Score.current)
        .order_by(Score.created, Submission.id)
    ).all()


def retire_report(session: Session, submission: Submission) -> None:
    """The Report that was shown so far is shown no more; it stays for audit."""
    session.execute(
        update(Report).where(Report.submission_id == submission.id, Report.current).values(current=False)
    )


def retire_results(session: Session, submission: Submission) -> None:
    """What was found so far counts no more; scores stay for audit."""
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
