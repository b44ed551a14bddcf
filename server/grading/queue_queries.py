"""SQL of the queue: its order, who is next, who waits for whom, and what workers there are for it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Select,
    Subquery,
    and_,
    case,
    func,
    null,
    or_,
    select,
    text,
    union,
)
from sqlalchemy.orm import Session, aliased, selectinload

from grader.contract import Mode, Reason, Verdict
from server.db.base import one_of
from server.db.models import Assignment, AssignmentVersion, Attempt, DeviceUsage, Node, Submission, Worker
from server.db.models.node import NodeState
from server.grading.states import ACTIVE, OPEN, AttemptState, SubmissionState

AGED = timedelta(minutes=10)
"""A student who has waited for so long goes before all who have not, longest wait first: nobody starves."""
REJUDGE_AGED = timedelta(hours=2)
"""When the oldest rejudge has waited for so long and no other is under way, it is next: rejudges do not
starve either, and a thousand of them hold up nobody."""
PRESSING = timedelta(hours=2)
"""Submissions to an assignment that closes within so long go before others."""
_DISPATCH_LOCK = 0x50_1A_4B
_PROMOTED, _AGED, _PRESSING, _ORDINARY, _REJUDGE = range(5)


@dataclass(frozen=True)
class Capacity:
    """Workers of one hardware class that take jobs, and what waits for them in the queue."""

    alive: int = 0
    free: int = 0
    """Of these, without a job."""
    published: int = 0
    """Jobs handed to the queue that nobody has claimed yet."""

    @property
    def room(self) -> int:
        """Jobs to publish: one for each free worker, and one more so that none has to wait for its next."""
        return max(0, self.free + 1 - self.published) if self.alive else 0


@dataclass(frozen=True)
class Ahead:
    """What goes before one queued submission: numbers, and device seconds as expected."""

    count: int
    seconds: float
    own_seconds: float
    """Of the same student alone: of theirs only one is graded at a time."""


def lock_dispatch(session: Session) -> None:
    """Wait for any other dispatcher, so that two of them do not fill the same free worker.

    On SQLite the writing transaction is that lock already.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _DISPATCH_LOCK})


def ranking(hardware: str, now: datetime, *, first_only: bool = False) -> Subquery:
    """The queue of a hardware class: one row for each submission that waits, with the columns of its order.

    `turn` counts in what its student has waiting, `busy` what the student has under way; the rest is the
    order. Assignments in quarantine are held back. `first_only`: only rows that may be of turn 1, found in a
    time that grows with the number of students, not of submissions.
    """
    active = _active_students()
    next_rejudge = _promoted(hardware, now)
    promoted = Submission.id == next_rejudge
    rejudged = Submission.reason == Reason.REJUDGE
    since = case((DeviceUsage.served > Submission.queued, DeviceUsage.served), else_=Submission.queued)
    aged = and_(~rejudged, since < now - AGED)
    closes_soon = and_(Assignment.closes >= now, Assignment.closes < now + PRESSING)
    kind = case(
        (promoted, _PROMOTED),
        (rejudged, _REJUDGE),
        (aged, _AGED),
        (closes_soon, _PRESSING),
        else_=_ORDINARY,
    )
    own_order = (case((promoted, 0), (rejudged, 2), else_=1), Submission.queued, Submission.id)
    turn = func.row_number().over(partition_by=Submission.user_id, order_by=own_order)
    ranked = (
        select(
            Submission.id,
            Submission.user_id,
            Submission.expected_seconds,
            turn.label("turn"),
            func.coalesce(active.c.number, 0).label("busy"),
            kind.label("kind"),
            case((aged, since), else_=null()).label("since"),
            func.coalesce(DeviceUsage.weight, 0.0).label("weight"),
            Submission.queued,
        )
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .outerjoin(DeviceUsage, DeviceUsage.user_id == Submission.user_id)
        .outerjoin(active, active.c.user_id == Submission.user_id)
        .where(_waiting(Submission, hardware), Assignment.quarantined.is_(None))
    )
    if first_only:
        firsts = _firsts(hardware, next_rejudge)
        ranked = ranked.join(firsts, firsts.c.id == Submission.id)
    return ranked.subquery("ranking")


def choose_next(session: Session, hardware: str, limit: int, now: datetime) -> Sequence[Submission]:
    """The next submissions to dispatch, locked: at most one of each student, none of who has one under way.

    Rows that another transaction holds (a cancel, a second dispatcher) are passed over.
    """
    ranked = ranking(hardware, now, first_only=True)
    return session.scalars(
        select(Submission)
        .join(ranked, ranked.c.id == Submission.id)
        .where(ranked.c.turn == 1, ranked.c.busy == 0, _waiting(Submission, hardware))
        .order_by(*_order(ranked))
        .limit(limit)
        .options(
            selectinload(Submission.version).load_only(AssignmentVersion.digest, AssignmentVersion.manifest),
            selectinload(Submission.files),
        )
        .with_for_update(of=Submission, key_share=True, skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()


def standings(session: Session, hardware: str, now: datetime) -> Mapping[int, Ahead]:
    """What goes before each submission of a queue in the order of the dispatcher, by the submission's id."""
    ranked = ranking(hardware, now)
    row = ranked.c
    whole = (row.turn + row.busy, *_order(ranked))
    earlier = (None, -1)  # Rows before this one.
    found = session.execute(
        select(
            row.id,
            func.row_number().over(order_by=whole) - 1,
            func.coalesce(func.sum(row.expected_seconds).over(order_by=whole, rows=earlier), 0.0),
            func.coalesce(
                func.sum(row.expected_seconds).over(
                    partition_by=row.user_id, order_by=row.turn, rows=earlier
                ),
                0.0,
            ),
        )
    )
    return {number: Ahead(count, float(total), float(own)) for number, count, total, own in found}


def capacity(session: Session, since: datetime) -> Mapping[str, Capacity]:
    """For each hardware class with a worker that was heard of since then and takes jobs: what it can take."""
    working = (
        select(Attempt.id)
        .where(Attempt.worker_id == Worker.id, Attempt.state == AttemptState.RUNNING)
        .exists()
    )
    workers = session.execute(
        select(Worker.hardware, func.count(), func.count().filter(~working))
        .join(Worker.node)
        .where(
            Worker.last_heartbeat >= since,
            Worker.state == NodeState.ACTIVE,
            Worker.consuming,
            Node.state == NodeState.ACTIVE,
        )
        .group_by(Worker.hardware)
    )
    waiting = session.execute(
        select(Attempt.hardware, func.count())
        .where(one_of(Attempt.state, OPEN), Attempt.state == AttemptState.PUBLISHED)
        .group_by(Attempt.hardware)
    )
    published = {name: number for name, number in waiting}  # noqa: C416  rows are no pairs for mypy
    return {name: Capacity(alive, free, published.get(name, 0)) for name, alive, free in workers}


def under_way(session: Session, hardware: str) -> Sequence[tuple[int, float, datetime | None]]:
    """Student, expected device seconds and start (None: not claimed yet) of every open attempt of a class."""
    rows = session.execute(
        select(Submission.user_id, Submission.expected_seconds, Attempt.started)
        .join(Attempt, Attempt.submission_id == Submission.id)
        .where(one_of(Attempt.state, OPEN), Attempt.hardware == hardware)
    )
    return [(user, seconds, started) for user, seconds, started in rows]


def older_tests(session: Session, submission: Submission) -> Sequence[Submission]:
    """Queued `test` runs that a newer one of the same team makes pointless, locked.

    Those for other hardware ask another question, and rejudges are staff's.
    """
    return session.scalars(
        select(Submission)
        .where(
            Submission.team_id == submission.team_id,
            Submission.assignment_id == submission.assignment_id,
            Submission.hardware == submission.hardware,
            Submission.mode == Mode.TEST,
            Submission.reason == Reason.SUBMIT,
            Submission.state == SubmissionState.QUEUED,
            Submission.id != submission.id,
            Submission.number < submission.number,
        )
        .order_by(Submission.id)
        .with_for_update(key_share=True, of=Submission)
        .execution_options(populate_existing=True)
    ).all()


def tried_on(session: Session, *, also_busy: bool = False) -> Sequence[Assignment]:
    """Assignments in quarantine, locked; without `also_busy`, those of which nothing is under way.

    One that another transaction holds is passed over.
    """
    busy = (
        select(Submission.id)
        .where(Submission.assignment_id == Assignment.id, one_of(Submission.state, ACTIVE))
        .exists()
    )
    held = (
        select(Assignment)
        .where(Assignment.quarantined.is_not(None), *([] if also_busy else [~busy]))
        .order_by(Assignment.id)
        .with_for_update(key_share=True, of=Assignment, skip_locked=True)
    )
    return session.scalars(held).all()


def next_trial(
    session: Session, assignment: Assignment, verdicts: Collection[Verdict], since: datetime
) -> Submission | None:
    """The submission to an assignment that has waited longest, locked; of a student who has nothing under way
    and with whom the assignment has not ended with these verdicts since then."""
    other, failed = aliased(Submission), aliased(Submission)
    busy = select(other.user_id).where(one_of(other.state, ACTIVE))
    suspects = (
        select(failed.user_id)
        .join(Attempt, Attempt.submission_id == failed.id)
        .where(
            failed.assignment_id == assignment.id, Attempt.finished >= since, Attempt.verdict.in_(verdicts)
        )
    )
    return session.scalars(
        select(Submission)
        .where(
            Submission.assignment_id == assignment.id,
            one_of(Submission.state, {SubmissionState.QUEUED}),
            Submission.reason == Reason.SUBMIT,
            Submission.user_id.not_in(busy),
            Submission.user_id.not_in(suspects),
        )
        .order_by(Submission.queued, Submission.id)
        .limit(1)
        .with_for_update(key_share=True, of=Submission, skip_locked=True)
    ).first()


def untried_nodes(session: Session, since: datetime) -> Sequence[tuple[Node, Sequence[str]]]:
    """Nodes that failures have brought into quarantine and that have no job, each with the hardware of its
    workers that were heard of since then and listen."""
    busy = select(Attempt.id).where(one_of(Attempt.state, OPEN), Attempt.node == Node.name).exists()
    rows = session.execute(
        select(Node, Worker.hardware)
        .join(Worker, Worker.node_id == Node.id)
        .where(
            Node.state == NodeState.QUARANTINED,
            Node.quarantine.is_not(None),
            Worker.last_heartbeat >= since,
            Worker.state == NodeState.ACTIVE,
            Worker.consuming,
            ~busy,
        )
        .order_by(Node.id)
    )
    found: dict[Node, set[str]] = {}
    for node, hardware in rows:
        found.setdefault(node, set()).add(hardware)
    return [(node, sorted(classes)) for node, classes in found.items()]


def next_node_trial(
    session: Session,
    node: Node,
    hardware: Collection[str],
    verdicts: Collection[Verdict],
    since: datetime,
) -> Submission | None:
    """The submission that has waited longest and has not failed yet, locked; of a student who has nothing
    under way and for whom that node has not ended with these verdicts since then. One to an assignment with
    which it has goes first."""
    other, failed = aliased(Submission), aliased(Submission)
    busy = select(other.user_id).where(one_of(other.state, ACTIVE))

    def of_failed(column: Any) -> Select[Any]:
        return (
            select(column)
            .join(Attempt, Attempt.submission_id == failed.id)
            .where(Attempt.node == node.name, Attempt.finished >= since, Attempt.verdict.in_(verdicts))
        )

    telling = Submission.assignment_id.in_(of_failed(failed.assignment_id))
    held = select(Assignment.id).where(Assignment.quarantined.is_not(None))
    return session.scalars(
        select(Submission)
        .where(
            one_of(Submission.state, {SubmissionState.QUEUED}),
            Submission.hardware.in_(hardware),
            Submission.reason == Reason.SUBMIT,
            Submission.failed_attempts == 0,
            Submission.user_id.not_in(busy),
            Submission.user_id.not_in(of_failed(failed.user_id)),
            Submission.assignment_id.not_in(held),
        )
        .order_by(case((telling, 0), else_=1), Submission.queued, Submission.id)
        .limit(1)
        .with_for_update(key_share=True, of=Submission, skip_locked=True)
    ).first()


def _waiting(row: type[Submission], hardware: str) -> ColumnElement[bool]:
    return and_(one_of(row.state, {SubmissionState.QUEUED}), row.hardware == hardware)


def _firsts(hardware: str, promoted: ColumnElement[int]) -> CTE:
    """Ids of what each student has first in the queue, and of the rejudge that is promoted.

    One step of an index for each student; materialized, or the planner would read the whole table instead.
    """
    other = aliased(Submission)
    students = select(other.user_id).where(_waiting(other, hardware)).distinct().subquery("students")
    held = select(Assignment.id).where(Assignment.quarantined.is_not(None))

    def first(reason: Reason) -> ColumnElement[int]:
        own = aliased(Submission)
        return (
            select(own.id)
            .where(
                _waiting(own, hardware), own.user_id == students.c.user_id, own.reason == reason,
                own.assignment_id.not_in(held),
            )
            .order_by(own.queued, own.id)
            .limit(1)
            .correlate(students)
            .scalar_subquery()
        )  # fmt: skip

    own_first = func.coalesce(first(Reason.SUBMIT), first(Reason.REJUDGE))
    both = union(select(own_first.label("id")).select_from(students), select(promoted))
    return both.cte("firsts").prefix_with("MATERIALIZED")


def _active_students() -> Subquery:
    other = aliased(Submission)
    return (
        select(other.user_id, func.count().label("number"))
        .where(one_of(other.state, ACTIVE))
        .group_by(other.user_id)
        .subquery("active")
    )


def _promoted(hardware: str, now: datetime) -> ColumnElement[int]:
    """Id of the one rejudge that goes first because it has waited too long; none while one is under way."""
    oldest, running, own = aliased(Submission), aliased(Submission), aliased(Submission)
    one_runs = (
        select(running.id)
        .where(one_of(running.state, ACTIVE), running.hardware == hardware, running.reason == Reason.REJUDGE)
        .exists()
    )
    busy = select(own.id).where(one_of(own.state, ACTIVE), own.user_id == oldest.user_id).exists()
    held = (
        select(Assignment.id)
        .where(Assignment.id == oldest.assignment_id, Assignment.quarantined.is_not(None))
        .exists()
    )
    return (
        select(oldest.id)
        .where(
            one_of(oldest.state, {SubmissionState.QUEUED}),
            oldest.hardware == hardware,
            oldest.reason == Reason.REJUDGE,
            oldest.queued < now - REJUDGE_AGED,
            ~or_(one_runs, busy, held),
        )
        .order_by(oldest.queued, oldest.id)
        .limit(1)
        .scalar_subquery()
    )


def _order(ranked: Subquery) -> tuple[ColumnElement[object], ...]:
    row = ranked.c
    return (row.kind, row.since, row.weight, row.queued, row.id)
