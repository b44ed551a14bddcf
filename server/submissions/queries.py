"""SQL on submissions and quotas."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session, joinedload, selectinload

from grader.contract import Mode, Reason
from server.db.models import Assignment, Course, Submission, Team, TeamMember, User
from server.grading.states import FINAL, SubmissionState

_UNFINISHED = Submission.state.not_in(FINAL)
_ASKED_FOR = _UNFINISHED & (Submission.reason == Reason.SUBMIT)
"""Under way because its author wants it: what staff have graded again takes nobody's room."""


def lock_team(session: Session, team: Team) -> None:
    """One upload of a team at a time: numbers and quotas are counted under this lock."""
    session.execute(select(Team.id).where(Team.id == team.id).with_for_update(key_share=True))


def last_number(session: Session, team: Team, assignment: Assignment) -> int:
    """Number of the team's latest submission to the assignment, 0 if there is none."""
    return session.scalar(
        select(func.max(Submission.number)).where(
            Submission.team_id == team.id, Submission.assignment_id == assignment.id
        )
    ) or 0  # fmt: skip


def unfinished(session: Session, team: Team, assignment: Assignment) -> int:
    """How many of the team's submissions to the assignment are not final, without rejudges."""
    return session.scalar(
        select(func.count()).where(
            Submission.team_id == team.id, Submission.assignment_id == assignment.id, _ASKED_FOR
        )
    ) or 0  # fmt: skip


def attempts_used(session: Session, team: Team, assignment: Assignment) -> int:
    """Gradings that the team has used, or has under way; a rejudge is none."""
    under_way = _ASKED_FOR & (Submission.mode == Mode.GRADE)
    return session.scalar(
        select(func.count()).where(
            Submission.team_id == team.id,
            Submission.assignment_id == assignment.id,
            or_(Submission.charged_attempt, under_way),
        )
    ) or 0  # fmt: skip


def seconds_used(session: Session, user: User, course: Course, since: datetime) -> float:
    """Device seconds that the user used in the course since then, and those expected of what is under way.

    What its author had run again counts where that was asked for, not where it was first handed in.
    """
    reserved = case((_ASKED_FOR, Submission.expected_seconds), else_=0.0)
    again = (Submission.reason == Reason.SUBMIT) & (Submission.queued >= since)
    total = session.scalar(
        select(
            func.sum(case((Submission.charged_seconds > 0, Submission.charged_seconds), else_=reserved))
        ).where(
            Submission.user_id == user.id,
            Submission.course_id == course.id,
            or_(Submission.created >= since, again),
        )
    )
    return float(total or 0.0)


def by_public_id(session: Session, public_id: str) -> Submission | None:
    """A submission with all that a page about it needs."""
    return session.scalar(
        select(Submission)
        .options(
            joinedload(Submission.course),
            joinedload(Submission.team),
            joinedload(Submission.user),
            joinedload(Submission.assignment),
            joinedload(Submission.version),
            selectinload(Submission.files),
        )
        .where(Submission.public_id == public_id)
    )


def in_team(session: Session, team_id: int, user: User) -> bool:
    """Whether the user is a member of the team."""
    statement = select(TeamMember.id).where(TeamMember.team_id == team_id, TeamMember.user_id == user.id)
    return session.scalar(statement) is not None


def listing(
    session: Session,
    course: Course,
    *,
    team: Team | None = None,
    assignment: Assignment | None = None,
    before: int | None = None,
    limit: int,
) -> Sequence[Submission]:
    """Submissions of a course, of one team or assignment if given, of ids below `before`; newest first."""
    statement = select(Submission).where(Submission.course_id == course.id)
    if team is not None:
        statement = statement.where(Submission.team_id == team.id)
    if assignment is not None:
        statement = statement.where(Submission.assignment_id == assignment.id)
    if before is not None:
        statement = statement.where(Submission.id < before)
    return session.scalars(
        statement.options(
            joinedload(Submission.course),
            joinedload(Submission.team),
            joinedload(Submission.user),
            joinedload(Submission.assignment),
            joinedload(Submission.version),
            selectinload(Submission.files),
        )
        .order_by(Submission.id.desc())
        .limit(limit)
    ).all()


def best_of_team(session: Session, team: Team) -> Sequence[Submission]:
    """The team's best graded submission of each assignment: most points, then fraction, then the latest."""
    order = (
        func.coalesce(Submission.points, -1.0).desc(),
        func.coalesce(Submission.fraction, -1.0).desc(),
        Submission.id.desc(),
    )
    ranked = (
        select(
            Submission.id,
            func.row_number().over(partition_by=Submission.assignment_id, order_by=order).label("place"),
        )
        .where(
            Submission.team_id == team.id,
            # Points stay while a rejudge is under way, and whatever becomes of it but another result.
            or_(Submission.state == SubmissionState.DONE, Submission.points.is_not(None)),
        )
        .subquery()
    )
    return session.scalars(
        select(Submission).join(ranked, ranked.c.id == Submission.id).where(ranked.c.place == 1)
    ).all()


def unfinished_of_courses(session: Session, courses: Sequence[Course], limit: int) -> Sequence[Submission]:
    """Submissions of these courses that are not final, longest waiting first, with what a list shows."""
    return session.scalars(
        select(Submission)
        .options(joinedload(Submission.team), joinedload(Submission.assignment))
        .where(Submission.course_id.in_([course.id for course in courses]), _UNFINISHED)
        .order_by(Submission.queued, Submission.id)
        .limit(limit)
    ).all()
