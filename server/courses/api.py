"""The API of courses, members and assignments."""

from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Response, UploadFile
from pydantic import Field

from server.access import AppSettings, Blobs, CurrentUser, Db, Paging, StaffUser
from server.accounts import service as accounts
from server.courses import service
from server.courses.schemas import (
    AssignmentDetailOut,
    AssignmentOut,
    AuditOut,
    CourseBody,
    CourseChanges,
    CourseOut,
    DatesBody,
    MemberBody,
    MemberOut,
    VersionOut,
)
from server.courses.service import UNSET, AssignmentView
from server.db.models import AssignmentVersion, Course
from server.db.models.course import Role
from server.errors import BodyTooLarge, Forbidden, NotFound
from server.schemas import Items, Moment, cut

MAX_MANIFEST = 4 << 20
router = APIRouter(prefix="/api/v1/courses", tags=["courses"])
_ONE = "/{slug}/assignments/{track}/{assignment}"


def _staff_assignment(
    slug: str, track: str, assignment: str, session: Db, user: StaffUser
) -> tuple[Course, AssignmentView]:
    course = service.staff_course(session, slug, user, least=Role.ADMIN)
    return course, service.get_assignment(session, course, f"{track}/{assignment}", staff=True)


StaffAssignment = Annotated[tuple[Course, AssignmentView], Depends(_staff_assignment)]


def _assignment(slug: str, track: str, assignment: str, session: Db, user: CurrentUser) -> AssignmentView:
    course, role = service.visible_course(session, slug, user)
    return service.get_assignment(session, course, f"{track}/{assignment}", staff=role.is_staff)


VisibleAssignment = Annotated[AssignmentView, Depends(_assignment)]


@router.get("")
def courses(session: Db, user: CurrentUser, page: Paging) -> Items[CourseOut]:
    """The caller's courses, newest first."""
    rows, after = cut(service.courses_of(session, user), page.after, page.limit)
    return Items(items=[CourseOut.of(course, role) for course, role in rows], next=after)


@router.post("", status_code=201)
def create_course(body: CourseBody, session: Db, user: StaffUser) -> CourseOut:
    """Create a course (admins of the site)."""
    if not user.site_admin:
        raise Forbidden(needs="admin of the site", needs_zh="网站管理员")
    return CourseOut.of(service.create_course(session, **body.model_dump(), by=user), Role.ADMIN)


@router.get("/{slug}")
def course(slug: str, session: Db, user: CurrentUser) -> CourseOut:
    """A course of the caller."""
    return CourseOut.of(*service.visible_course(session, slug, user))


@router.patch("/{slug}")
def change_course(slug: str, body: CourseChanges, session: Db, user: StaffUser) -> CourseOut:
    """Change a course (its admins)."""
    found = service.staff_course(session, slug, user, least=Role.ADMIN)
    service.set_public_boards(session, found, public=body.public_boards, by=user)
    return CourseOut.of(found, Role.ADMIN)


@router.get("/{slug}/members")
def members(slug: str, session: Db, user: StaffUser, page: Paging) -> Items[MemberOut]:
    """Members of a course (staff)."""
    found = service.staff_course(session, slug, user)
    rows = service.members(session, found, after=page.after, limit=page.limit)
    after = rows[-1].id if len(rows) == page.limit else None
    return Items(items=[MemberOut.of(row) for row in rows], next=after)


@router.post("/{slug}/members", status_code=201)
def enrol(slug: str, body: MemberBody, session: Db, user: StaffUser) -> MemberOut:
    """Make somebody a member, or change the role (admins of the course)."""
    found = service.staff_course(session, slug, user, least=Role.ADMIN)
    person = accounts.find_user(session, body.login)
    if person is None:
        raise NotFound(what="user")
    membership = service.enrol(session, found, person, body.role, by=user)
    return MemberOut(login=person.login, name=person.name, role=membership.role)


@router.get("/{slug}/audit")
def audit(slug: str, session: Db, user: StaffUser, page: Paging) -> Items[AuditOut]:
    """Who did what in the course, newest first (staff)."""
    found = service.staff_course(session, slug, user)
    rows = service.audit_log(session, found, after=page.after, limit=page.limit)
    after = rows[-1].id if len(rows) == page.limit else None
    return Items(items=[AuditOut.of(row) for row in rows], next=after)


@router.get("/{slug}/assignments")
def assignments(slug: str, session: Db, user: CurrentUser, page: Paging) -> Items[AssignmentOut]:
    """The assignments of a course, by name."""
    found, role = service.visible_course(session, slug, user)
    views, after = cut(service.assignments(session, found, staff=role.is_staff), page.after, page.limit)
    return Items(items=[AssignmentOut.of(view) for view in views], next=after)


@router.get(_ONE)
def assignment(view: VisibleAssignment) -> AssignmentDetailOut:
    """One assignment with its text."""
    version = view.version
    return AssignmentDetailOut(
        **AssignmentOut.of(view).model_dump(),
        readme_en=version.readme_en if version else "",
        readme_zh=version.readme_zh if version else "",
    )


@router.get(f"{_ONE}/starter", response_class=Response, responses={200: {"content": {"application/zip": {}}}})
def starter(view: VisibleAssignment, blobs: Blobs) -> Response:
    """What a student starts from, as a zip."""
    if view.version is None:
        raise NotFound(what="assignment")
    name = f"{view.assignment.slug}.zip"
    return Response(
        service.starter(blobs, view.version),
        media_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.patch(_ONE)
def set_dates(body: DatesBody, found: StaffAssignment, session: Db, user: StaffUser) -> AssignmentOut:
    """Set dates and limits (admins of the course)."""
    course, view = found
    service.set_dates(session, view.assignment, by=user, **body.given())
    return AssignmentOut.of(service.get_assignment(session, course, view.assignment.name, staff=True))


@router.get(f"{_ONE}/versions")
def versions(found: StaffAssignment, session: Db, page: Paging) -> Items[VersionOut]:
    """The versions of an assignment, newest first (admins of the course)."""
    _, view = found
    rows = service.versions(session, view.assignment, before=page.after or None, limit=page.limit)
    after = rows[-1].id if len(rows) == page.limit else None
    return Items(items=[VersionOut.of(row) for row in rows], next=after)


@router.post(f"{_ONE}/versions/{{digest}}/current")
def put_back(digest: str, found: StaffAssignment, session: Db, user: StaffUser) -> VersionOut:
    """Make a version the current one (admins of the course)."""
    _, view = found
    version = service.get_version(session, view.assignment, digest)
    service.put_back(session, version, by=user)
    return VersionOut.of(version)


@router.delete(f"{_ONE}/current", status_code=204)
def unpublish(found: StaffAssignment, session: Db, user: StaffUser) -> None:
    """Hide an assignment from students (admins of the course)."""
    _, view = found
    service.unpublish(session, view.assignment, by=user)


@router.post("/{slug}/bundles", status_code=201)
def publish(
    slug: str,
    session: Db,
    user: StaffUser,
    blobs: Blobs,
    settings: AppSettings,
    archive: Annotated[UploadFile, File()],
    manifest: Annotated[UploadFile, File()],
    opens: Annotated[Moment | None, Form()] = None,
    closes: Annotated[Moment | None, Form()] = None,
    attempt_limit: Annotated[int | None, Form(ge=1)] = None,
    device_seconds_per_day: Annotated[float | None, Form(gt=0), Field(allow_inf_nan=False)] = None,
) -> VersionOut:
    """Publish a bundle as the current version of its assignment (admins of the course)."""
    course = service.staff_course(session, slug, user, least=Role.ADMIN)
    packed = archive.file.read(settings.bundle_bytes + 1)
    described = manifest.file.read(MAX_MANIFEST + 1)
    if len(packed) > settings.bundle_bytes or len(described) > MAX_MANIFEST:
        raise BodyTooLarge(limit=settings.bundle_bytes)
    version: AssignmentVersion = service.publish_bundle(
        session,
        blobs,
        course,
        packed,
        described,
        by=user,
        opens=UNSET if opens is None else opens,
        closes=UNSET if closes is None else closes,
        attempt_limit=UNSET if attempt_limit is None else attempt_limit,
        device_seconds_per_day=UNSET if device_seconds_per_day is None else device_seconds_per_day,
    )
    return VersionOut.of(version)
