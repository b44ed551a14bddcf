"""SQL on what students of a course reached."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from server.db.models import Course, Membership, Submission, Team, TeamMember, User
from server.db.models.course import Role
from server.grading.states import SubmissionState


@dataclass(frozen=True)
class Best:
    """A team's best graded submission of one assignment."""

    team_id: int
    assignment_id: int
    public_id: str
    points: float | None
    fraction: float | None


def students(session: Session, course: Course) -> Sequence[tuple[User, Team]]:
    """The students of a course with their teams, by login."""
    rows = session.execute(
        select(User, Team)
        .join(Membership, Membership.user_id == User.id)
        .join(
            TeamMember,
            and_(TeamMember.user_id == User.id, TeamMember.course_id == Membership.course_id),
        )
        .join(Team, Team.id == TeamMember.team_id)
        .where(Membership.course_id == course.id, Membership.role == Role.STUDENT)
        .order_by(User.login)
    )
    return [(user, team) for user, team in rows]


def best(session: Session, course: Course) -> Sequence[Best]:
    """Every team's best of every assignment: most points, then fraction, then the latest."""
    order = (
        func.coalesce(Submission.points, -1.0).desc(),
        func.coalesce(Submission.fraction, -1.0).desc(),
        Submission.id.desc(),
    )
    place = func.row_number().over(
        partition_by=(Submission.team_id, Submission.assignment_id), order_by=order
    )
    ranked = (
        select(
            Submission.team_id,
            Submission.assignment_id,
            Submission.public_id,
            Submission.points,
            Submission.fraction,
            place.label("place"),
        )
        .where(
            Submission.course_id == course.id,
            # Points stay while a rejudge is under way, and whatever becomes of it but another result.
            or_(Submission.state == SubmissionState.DONE, Submission.points.is_not(None)),
        )
        .subquery()
    )
    columns = ranked.c
    rows = session.execute(
        select(
            columns.team_id, columns.assignment_id, columns.public_id, columns.points, columns.fraction
        ).where(columns.place == 1)
    )
    return [Best(*row) for row in rows]
