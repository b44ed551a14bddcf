"""Courses, their members and teams, and which assignments they publish when."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import available_timezones

from sqlalchemy.orm import Session

from grader.manifest import Manifest
from server.blobs import BlobStore, MissingBlobError, keep
from server.courses import queries
from server.courses.bundles import manifest_of, unpack
from server.db.audit import record
from server.db.base import utc_now
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
from server.db.models.course import Role
from server.errors import Closed, Conflict, Forbidden, Invalid, NotFound, NotOpen, Unavailable

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ORDER = {Role.STUDENT: 0, Role.TA: 1, Role.ADMIN: 2}
_ROLES_ZH = {Role.STUDENT: "学生", Role.TA: "助教", Role.ADMIN: "课程管理员"}


class Unset:
    """Type of `UNSET`."""


UNSET = Unset()
"""Leaves a field as it is, where None would clear it."""


class Openness(StrEnum):
    """Whether an assignment takes submissions now."""

    UNPUBLISHED = "unpublished"
    NOT_OPEN = "not_open"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class AssignmentView:
    """An assignment with its current version (None: unpublished) and whether it is open."""

    assignment: Assignment
    version: AssignmentVersion | None
    state: Openness

    @property
    def manifest(self) -> Manifest:
        """What the current version's manifest says; raises `NotFound` for an unpublished assignment."""
        if self.version is None:
            raise NotFound(what="assignment")
        return manifest_of(self.version)


def create_course(
    session: Session,
    *,
    slug: str,
    title_en: str,
    title_zh: str,
    timezone: str = "UTC",
    public_boards: bool = False,
    by: User | None,
) -> Course:
    """Create a course; who creates it becomes its admin. Raises `Invalid` or `Conflict`."""
    if not _SLUG.fullmatch(slug) or len(slug) > 64:
        raise Invalid(
            field="slug", why="lower-case words joined by hyphens", why_zh="须为以连字符连接的小写单词"
        )
    if timezone not in available_timezones():
        raise Invalid(field="timezone", why="an IANA name such as Asia/Shanghai", why_zh="须为 IANA 时区名")
    for field, title in (("title_en", title_en), ("title_zh", title_zh)):
        if not 1 <= len(title.strip()) <= 256:
            raise Invalid(field=field, why="1 to 256 characters", why_zh="须为 1 至 256 个字符")
    if queries.course_by_slug(session, slug):
        raise Conflict(what=f"course {slug}")
    course = Course(
        slug=slug, title_en=title_en.strip(), title_zh=title_zh.strip(), timezone=timezone,
        public_boards=public_boards,
    )  # fmt: skip
    session.add(course)
    session.flush()
    record(session, "course.create", slug, actor=by, course_id=course.id)
    if by is not None:
        enrol(session, course, by, Role.ADMIN, by=by)
    return course


def get_course(session: Session, slug: str) -> Course:
    """The course of that slug, whoever asks; raises `NotFound`."""
    course = queries.course_by_slug(session, slug)
    if course is None:
        raise NotFound(what="course")
    return course


def courses_of(session: Session, user: User) -> list[tuple[Course, Role]]:
    """The user's courses with the role in each, newest first; all courses for an admin of the site."""
    roles = {entry.course_id: (entry.course, entry.role) for entry in queries.memberships_of(session, user)}
    if user.site_admin:
        return [(course, Role.ADMIN) for course in queries.all_courses(session)]
    return list(roles.values())


def role_of(session: Session, course: Course, user: User) -> Role | None:
    """The user's role in the course; an admin of the site is admin of every course."""
    if user.site_admin:
        return Role.ADMIN
    found = queries.membership(session, course, user)
    return found.role if found else None


def visible_course(session: Session, slug: str, user: User) -> tuple[Course, Role]:
    """A course that the user is in, with the role; raises `NotFound`."""
    course = get_course(session, slug)
    role = role_of(session, course, user)
    if role is None:
        raise NotFound(what="course")
    return course, role


def staff_course(session: Session, slug: str, user: User, *, least: Role = Role.TA) -> Course:
    """A course in which the user has at least that role; raises `NotFound` or `Forbidden`."""
    course, role = visible_course(session, slug, user)
    if _ORDER[role] < _ORDER[least]:
        raise Forbidden(
            needs=f"{least.value} of the course {slug}", needs_zh=f"课程 {slug} 的{_ROLES_ZH[least]}"
        )
    return course


def set_public_boards(session: Session, course: Course, *, public: bool, by: User) -> None:
    """Show the course's boards to everybody, or to its members only."""
    course.public_boards = public
    record(session, "course.boards", course.slug, actor=by, course_id=course.id, public=public)


def enrol(
    session: Session, course: Course, user: User, role: Role = Role.STUDENT, *, by: User | None = None
) -> Membership:
    """Make the user a member with that role, or change the role; who has no team gets a team of one."""
    found = queries.membership(session, course, user)
    if found is None:
        found = Membership(course_id=course.id, user_id=user.id, role=role)
        session.add(found)
    elif found.role is role:
        return found
    found.role = role
    team = queries.team_of(session, course, user)
    if team is None:
        names = queries.team_names(session, course)
        name = next(
            name
            for n in range(len(names) + 1)
            if (name := user.login if n == 0 else f"{user.login}-{n + 1}") not in names
        )
        team = Team(course_id=course.id, name=name)
        session.add(team)
        session.flush()
        session.add(TeamMember(team_id=team.id, course_id=course.id, user_id=user.id))
    team.staff = role.is_staff
    session.flush()
    record(session, "member.role", user.login, actor=by, course_id=course.id, role=role.value)
    return found


def members(session: Session, course: Course, *, after: int = 0, limit: int = 100) -> Sequence[Membership]:
    """Members with their users, in the order in which they joined."""
    return queries.members(session, course, after=after, limit=limit)


def team_of(session: Session, course: Course, user: User) -> Team | None:
    """The user's team in the course."""
    return queries.team_of(session, course, user)


def team_named(session: Session, course: Course, name: str) -> Team | None:
    """The team of that name, or the team of the member with that login."""
    return queries.team_named(session, course, name)


def audit_log(session: Session, course: Course, *, after: int = 0, limit: int = 50) -> Sequence[AuditEntry]:
    """What staff and the system did in the course, newest first."""
    return queries.audit(session, course, after=after, limit=limit)


def assignments(
    session: Session, course: Course, *, staff: bool, now: datetime | None = None
) -> list[AssignmentView]:
    """The course's assignments by name; students do not see unpublished ones."""
    views = [_view(found, version, now) for found, version in queries.assignments(session, course)]
    return [view for view in views if staff or view.state is not Openness.UNPUBLISHED]


def get_assignment(
    session: Session, course: Course, name: str, *, staff: bool, now: datetime | None = None
) -> AssignmentView:
    """The assignment called `track/slug`.

    Raises `NotFound` if there is none; for students also if it is unpublished, and `NotOpen` before it opens.
    """
    track, _, slug = name.partition("/")
    found = queries.assignment(session, course, track, slug)
    if found is None:
        raise NotFound(what="assignment")
    view = _view(found, queries.current_version(session, found), now)
    if not staff:
        if view.state is Openness.UNPUBLISHED:
            raise NotFound(what="assignment")
        if view.state is Openness.NOT_OPEN:
            raise _not_open(found)
    return view


def require_open(view: AssignmentView, *, staff: bool) -> AssignmentVersion:
    """The version to submit to. Raises `NotOpen` or `Closed`; staff are bound only by publication."""
    if view.version is None:
        raise _not_open(view.assignment)
    if not staff and view.state is Openness.NOT_OPEN:
        raise _not_open(view.assignment)
    if not staff and view.state is Openness.CLOSED and view.assignment.closes is not None:
        raise Closed(closed=view.assignment.closes.isoformat(timespec="seconds"))
    return view.version


def publish_bundle(
    session: Session,
    blobs: BlobStore,
    course: Course,
    archive: bytes,
    manifest: bytes | str,
    *,
    by: User,
    opens: datetime | Unset | None = UNSET,
    closes: datetime | Unset | None = UNSET,
    attempt_limit: int | Unset | None = UNSET,
    device_seconds_per_day: float | Unset | None = UNSET,
) -> AssignmentVersion:
    """Make a bundle the current version of its assignment, which is created if the course lacks it.

    Only the manifest and plain files are read; the assignment's code never runs here. A digest that was
    published before is put back, with this manifest in place of the one it had. Dates and limits that are not
    given stay as they were. Raises `BundleRefused` or `Invalid`.
    """
    content = unpack(archive, manifest)
    found = content.manifest
    track, _, slug = found.id.partition("/")
    assignment = queries.assignment(session, course, track, slug)
    if assignment is None:
        assignment = Assignment(course_id=course.id, track=track, slug=slug)
        session.add(assignment)
        session.flush()
    set_dates(
        session, assignment, by=by, opens=opens, closes=closes, attempt_limit=attempt_limit,
        device_seconds_per_day=device_seconds_per_day,
    )  # fmt: skip
    version = queries.version(session, assignment, found.digest)
    if version is None:
        keep(session, blobs, archive)
        version = AssignmentVersion(
            course_id=course.id,
            assignment=assignment,
            digest=found.digest,
            starter_blob=keep(session, blobs, content.starter),
            manifest=found.model_dump(mode="json"),
            title_en=found.title.en,
            title_zh=found.title.zh,
            readme_en=content.readme_en,
            readme_zh=content.readme_zh,
            created_by=by.id,
        )
        session.add(version)
        session.flush()
    else:
        _replace_manifest(session, version, found, by=by)
    put_back(session, version, by=by)
    return version


def _replace_manifest(session: Session, version: AssignmentVersion, found: Manifest, *, by: User) -> None:
    """The same files, evaluated again: what was evaluated before, wrongly or by an older program, goes."""
    evaluated = found.model_dump(mode="json")
    if version.manifest == evaluated:
        return
    changed = sorted(
        key for key in {*version.manifest, *evaluated} if version.manifest.get(key) != evaluated.get(key)
    )
    version.manifest = evaluated
    version.title_en, version.title_zh = found.title.en, found.title.zh
    session.flush()
    record(
        session, "assignment.manifest", version.assignment.name, actor=by, course_id=version.course_id,
        digest=version.digest, changed=changed,
    )  # fmt: skip


def put_back(session: Session, version: AssignmentVersion, *, by: User) -> None:
    """Make a version, new or earlier, the current one of its assignment."""
    assignment = version.assignment
    queries.lock_assignment(session, assignment)
    queries.clear_current(session, assignment)
    version.current = True
    session.flush()
    record(
        session, "assignment.publish", assignment.name, actor=by, course_id=version.course_id,
        digest=version.digest,
    )  # fmt: skip


def unpublish(session: Session, assignment: Assignment, *, by: User) -> None:
    """Hide an assignment from students; what was handed in stays and is still graded."""
    queries.lock_assignment(session, assignment)
    queries.clear_current(session, assignment)
    record(session, "assignment.unpublish", assignment.name, actor=by, course_id=assignment.course_id)


def set_dates(
    session: Session,
    assignment: Assignment,
    *,
    by: User,
    opens: datetime | Unset | None = UNSET,
    closes: datetime | Unset | None = UNSET,
    attempt_limit: int | Unset | None = UNSET,
    device_seconds_per_day: float | Unset | None = UNSET,
) -> None:
    """Change dates and limits; None clears one (no date; the server's default limit). Raises `Invalid`."""
    given = {
        "opens": opens,
        "closes": closes,
        "attempt_limit": attempt_limit,
        "device_seconds_per_day": device_seconds_per_day,
    }
    changes = {field: value for field, value in given.items() if not isinstance(value, Unset)}
    for field, value in changes.items():
        if isinstance(value, datetime) and value.tzinfo is None:
            raise Invalid(field=field, why="a time with its offset from UTC", why_zh="须为带时区偏移的时间")
        if isinstance(value, int | float) and not 0 < value < 1e9:
            raise Invalid(field=field, why="a number above 0", why_zh="须为大于 0 的数")
        setattr(assignment, field, value)
    if assignment.opens and assignment.closes and assignment.closes <= assignment.opens:
        raise Invalid(field="closes", why="later than `opens`", why_zh="须晚于开放时间")
    if changes:
        shown = {
            field: value.isoformat() if isinstance(value, datetime) else value
            for field, value in changes.items()
        }
        record(
            session, "assignment.dates", assignment.name, actor=by, course_id=assignment.course_id, **shown
        )


def versions(
    session: Session, assignment: Assignment, *, before: int | None = None, limit: int = 50
) -> Sequence[AssignmentVersion]:
    """Versions of an assignment, newest first, of ids below `before`."""
    return queries.versions(session, assignment, before=before, limit=limit)


def get_version(session: Session, assignment: Assignment, digest: str) -> AssignmentVersion:
    """The version of that digest; raises `NotFound`."""
    found = queries.version(session, assignment, digest)
    if found is None:
        raise NotFound(what="version")
    return found


def starter(blobs: BlobStore, version: AssignmentVersion) -> bytes:
    """The zip that students start from: no hidden cases, no reference."""
    try:
        return blobs.read(version.starter_blob)
    except MissingBlobError:
        raise Unavailable(what="starter files") from None


def _view(assignment: Assignment, version: AssignmentVersion | None, now: datetime | None) -> AssignmentView:
    now = now or utc_now()
    if version is None:
        state = Openness.UNPUBLISHED
    elif assignment.opens is not None and now < assignment.opens:
        state = Openness.NOT_OPEN
    elif assignment.closes is not None and now >= assignment.closes:
        state = Openness.CLOSED
    else:
        state = Openness.OPEN
    return AssignmentView(assignment, version, state)


def _not_open(assignment: Assignment) -> NotOpen:
    return NotOpen(opens=assignment.opens.isoformat(timespec="seconds") if assignment.opens else None)
