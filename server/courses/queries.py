"""SQL on courses, memberships, teams, assignments and their versions."""

from collections.abc import Sequence

from sqlalchemy import and_, select, update
from sqlalchemy.orm import Session, joinedload

from server.db.models import (
    Assignment,
    AssignmentVersion,
    AuditEntry,
    Course,
    Membership,
    Team,
    TeamMember,
    User,
)


def course_by_slug(session: Session, slug: str) -> Course | None:
    """The course of that slug."""
    return session.scalar(select(Course).where(Course.slug == slug))


def all_courses(session: Session) -> Sequence[Course]:
    """Every course, newest first."""
    return session.scalars(select(Course).order_by(Course.id.desc())).all()


def memberships_of(session: Session, user: User) -> Sequence[Membership]:
    """The user's memberships with their courses, newest course first."""
    return session.scalars(
        select(Membership)
        .options(joinedload(Membership.course))
        .where(Membership.user_id == user.id)
        .order_by(Membership.course_id.desc())
    ).all()


def membership(session: Session, course: Course, user: User) -> Membership | None:
    """The user's membership in the course."""
    return session.scalar(
        select(Membership).where(Membership.course_id == course.id, Membership.user_id == user.id)
    )


def members(session: Session, course: Course, *, after: int, limit: int) -> Sequence[Membership]:
    """Members with their users, by id, beginning after that id."""
    return session.scalars(
        select(Membership)
        .options(joinedload(Membership.user))
        .where(Membership.course_id == course.id, Membership.id > after)
        .order_by(Membership.id)
        .limit(limit)
    ).all()


def team_of(session: Session, course: Course, user: User) -> Team | None:
    """The user's team in the course."""
    return session.scalar(
        select(Team)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .where(TeamMember.course_id == course.id, TeamMember.user_id == user.id)
    )


def team_named(session: Session, course: Course, name: str) -> Team | None:
    """The team of that name; if there is none, that of the member with that login."""
    named = session.scalar(select(Team).where(Team.course_id == course.id, Team.name == name))
    return named or session.scalar(
        select(Team)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .join(User, User.id == TeamMember.user_id)
        .where(TeamMember.course_id == course.id, User.login == name.lower())
    )


def team_names(session: Session, course: Course) -> set[str]:
    """Names of all teams of a course."""
    return set(session.scalars(select(Team.name).where(Team.course_id == course.id)))


def assignment(session: Session, course: Course, track: str, slug: str) -> Assignment | None:
    """The assignment of that name, published or not."""
    return session.scalar(
        select(Assignment).where(
            Assignment.course_id == course.id, Assignment.track == track, Assignment.slug == slug
        )
    )


def lock_assignment(session: Session, assignment: Assignment) -> None:
    """Wait until no other transaction changes this assignment or its versions."""
    session.execute(
        select(Assignment.id).where(Assignment.id == assignment.id).with_for_update(key_share=True)
    )


def assignments(session: Session, course: Course) -> Sequence[tuple[Assignment, AssignmentVersion | None]]:
    """All assignments of a course with their current versions, by name."""
    rows = session.execute(
        select(Assignment, AssignmentVersion)
        .outerjoin(
            AssignmentVersion,
            and_(AssignmentVersion.assignment_id == Assignment.id, AssignmentVersion.current),
        )
        .where(Assignment.course_id == course.id)
        .order_by(Assignment.track, Assignment.slug)
    )
    return [(found, version) for found, version in rows]


def current_version(session: Session, assignment: Assignment) -> AssignmentVersion | None:
    """The version that is published, if any."""
    return session.scalar(
        select(AssignmentVersion).where(
            AssignmentVersion.assignment_id == assignment.id, AssignmentVersion.current
        )
    )


def version(session: Session, assignment: Assignment, digest: str) -> AssignmentVersion | None:
    """The version of that digest."""
    return session.scalar(
        select(AssignmentVersion).where(
            AssignmentVersion.assignment_id == assignment.id, AssignmentVersion.digest == digest
        )
    )


def versions(
    session: Session, assignment: Assignment, *, before: int | None, limit: int
) -> Sequence[AssignmentVersion]:
    """Versions, newest first, of ids below `before`."""
    statement = select(AssignmentVersion).where(AssignmentVersion.assignment_id == assignment.id)
    if before is not None:
        statement = statement.where(AssignmentVersion.id < before)
    return session.scalars(statement.order_by(AssignmentVersion.id.desc()).limit(limit)).all()


def clear_current(session: Session, assignment: Assignment) -> None:
    """No version of the assignment is current any more."""
    session.execute(
        update(AssignmentVersion)
        .where(AssignmentVersion.assignment_id == assignment.id, AssignmentVersion.current)
        .values(current=False)
    )


def audit(session: Session, course: Course, *, after: int, limit: int) -> Sequence[AuditEntry]:
    """The course's audit log, newest first, of entries before that id (0: from the newest)."""
    statement = (
        select(AuditEntry).options(joinedload(AuditEntry.actor)).where(AuditEntry.course_id == course.id)
    )
    if after:
        statement = statement.where(AuditEntry.id < after)
    return session.scalars(statement.order_by(AuditEntry.id.desc()).limit(limit)).all()
