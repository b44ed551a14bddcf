"""Pages of courses and assignments, with the form that hands in."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy.orm import Session
from starlette.datastructures import UploadFile

from grader.contract import MAX_FILE_BYTES, MAX_FILES, Mode
from server import formdata
from server.access import AppSettings, Blobs, CheckedForm, CurrentUser, Db
from server.courses import service, syllabus_map, views
from server.courses.service import AssignmentView, Openness
from server.db.models import AssignmentVersion, Course, Submission, User
from server.db.models.course import Role
from server.errors import DomainError, NotFound, NotLoggedIn
from server.logging import note
from server.security import SESSION_COOKIE
from server.settings import Settings
from server.submissions import service as submissions
from server.web import forms
from server.web.reader import PageReader
from server.web.render import Reader, page, zone_of

router = APIRouter(include_in_schema=False)
_SHOWN = 20
"""Submissions of a team on the page of an assignment."""


@dataclass(frozen=True)
class Row:
    """One assignment in a course's list."""

    view: AssignmentView
    title: str
    address: str
    best: Submission | None


@dataclass(frozen=True)
class Draft:
    """What a form that was refused had said, so that nothing must be typed again."""

    code: str = ""
    language: str = ""
    hardware: str = ""
    mode: str = Mode.GRADE.value


@dataclass(frozen=True)
class Posted:
    """What the form that hands in sent, whatever its size: the rules for files are asked later."""

    draft: Draft
    uploads: Sequence[UploadFile]


async def _posted(request: Request) -> AsyncIterator[Posted]:
    # As in `submissions.uploads`: who is asking is looked up later.
    if SESSION_COOKIE not in request.cookies:
        raise NotLoggedIn
    form = await formdata.read(request)

    def field(name: str, default: str = "") -> str:
        value = form.get(name, default)
        return value if isinstance(value, str) else default

    try:
        yield Posted(
            Draft(field("code"), field("language"), field("hardware"), field("mode", Mode.GRADE.value)),
            [part for part in form.getlist("files") if isinstance(part, UploadFile)],
        )
    finally:
        await form.close()


@router.get("/")
def home(reader: PageReader) -> Response:
    """To the courses, or to log in first."""
    return RedirectResponse("/courses" if reader.user else "/login", status_code=303)


@router.get("/courses")
def courses_page(request: Request, reader: PageReader, session: Db, user: CurrentUser) -> Response:
    """The reader's courses."""
    found = service.courses_of(session, user)
    return page(request, reader, "courses.html", courses=found)


@router.get("/courses/{slug}")
def course_page(request: Request, reader: PageReader, session: Db, user: CurrentUser, slug: str) -> Response:
    """The assignments of a course, with dates and the team's best."""
    course, role = service.visible_course(session, slug, user)
    team = service.team_of(session, course, user)
    best = submissions.best_of_team(session, team) if team else {}
    rows = [
        Row(
            view,
            _title(view, reader),
            _address(course, view.assignment.name),
            best.get(view.assignment.id),
        )
        for view in service.assignments(session, course, staff=role.is_staff)
    ]
    return page(
        request,
        reader,
        "course.html",
        course=course,
        staff=role.is_staff,
        rows=rows,
        zone=zone_of(course),
        mapped=syllabus_map.syllabus() is not None,
    )


@router.get("/courses/{slug}/map")
def map_page(request: Request, reader: PageReader, session: Db, user: CurrentUser, slug: str) -> Response:
    """The weeks and topics of the syllabus, the assignments that cover them, and the team's best."""
    course, role = service.visible_course(session, slug, user)
    syllabus = syllabus_map.syllabus()
    if syllabus is None:
        raise NotFound(what="map")
    team = service.team_of(session, course, user)
    best = submissions.best_of_team(session, team) if team else {}
    published = {
        view.assignment.name: best.get(view.assignment.id)
        for view in service.assignments(session, course, staff=role.is_staff)
        if view.version is not None
    }
    weeks = syllabus_map.weeks(syllabus, published, f"/courses/{quote(course.slug)}/assignments/")
    return page(request, reader, "map.html", course=course, weeks=weeks, totals=syllabus_map.totals(weeks))


@router.get("/courses/{slug}/assignments/{track}/{name}")
def assignment_page(
    request: Request,
    reader: PageReader,
    session: Db,
    settings: AppSettings,
    user: CurrentUser,
    slug: str,
    blobs: Blobs,
    track: str,
    name: str,
    again: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """One assignment: what is asked, limits, the form, and what the team handed in.

    `again`: the form begins with the code of that submission, if it is one file of text.
    """
    course, role = service.visible_course(session, slug, user)
    view = service.get_assignment(session, course, f"{track}/{name}", staff=role.is_staff)
    draft = _draft(session, blobs, user, again) if again else Draft()
    return _assignment(request, reader, session, settings, user, course, role, view, draft)


@router.post("/courses/{slug}/assignments/{track}/{name}/submissions", dependencies=[CheckedForm])
def submit(
    request: Request,
    posted: Annotated[Posted, Depends(_posted)],  # Before the transaction, which must not wait for it.
    reader: PageReader,
    session: Db,
    settings: AppSettings,
    blobs: Blobs,
    user: CurrentUser,
    slug: str,
    track: str,
    name: str,
) -> Response:
    """Hand in; what is refused comes back with the reason and all that was typed."""
    course, role = service.visible_course(session, slug, user)
    view = service.get_assignment(session, course, f"{track}/{name}", staff=role.is_staff)
    draft = posted.draft
    chosen = forms.language(draft.language)
    try:
        submission = submissions.create(
            session,
            blobs,
            settings,
            user=user,
            course=course,
            name=view.assignment.name,
            files=forms.handed_in(posted.uploads, draft.code, chosen),
            mode=forms.mode(draft.mode),
            language=chosen,
            hardware=draft.hardware or None,
        )
    except DomainError as error:
        session.rollback()
        return _assignment(request, reader, session, settings, user, course, role, view, draft, error)
    note(request, submission=submission.public_id)
    return RedirectResponse(f"/submissions/{submission.public_id}", status_code=303)


@router.get("/courses/{slug}/assignments/{track}/{name}/starter")
def starter(session: Db, blobs: Blobs, user: CurrentUser, slug: str, track: str, name: str) -> Response:
    """The zip that students start from."""
    version = _version(session, user, slug, track, name)
    return Response(
        service.starter(blobs, version),
        media_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}.zip"'},
    )


@router.get("/courses/{slug}/assignments/{track}/{name}/files/{path:path}")
def figure(
    session: Db, blobs: Blobs, user: CurrentUser, slug: str, track: str, name: str, path: str
) -> Response:
    """A picture of the assignment's text, out of its bundle."""
    version = _version(session, user, slug, track, name)
    content, kind = views.picture(blobs, version.digest, path)
    headers = {
        "Cache-Control": "private, max-age=3600",
        # An SVG opened by itself is a document: it may style itself, and nothing else.
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    return Response(content, media_type=kind, headers=headers)


def _assignment(
    request: Request,
    reader: Reader,
    session: Session,
    settings: Settings,
    user: User,
    course: Course,
    role: Role,
    view: AssignmentView,
    draft: Draft,
    error: DomainError | None = None,
) -> Response:
    version = view.version
    if version is None:
        raise NotFound(what="assignment")
    assignment, manifest = view.assignment, view.manifest
    team = service.team_of(session, course, user)
    mine = submissions.listing(session, course=course, user=user, name=assignment.name, limit=_SHOWN)
    address = _address(course, assignment.name)
    quota = None
    if team is not None and not role.is_staff:
        quota = submissions.quota(
            session, settings, assignment=assignment, course=course, team=team, user=user
        )
    readme = version.readme_zh if reader.language == "zh" else version.readme_en
    return page(
        request,
        reader,
        "assignment.html",
        status=error.status if error else 200,
        back=address,
        fault=error and (error.message_zh if reader.language == "zh" else error.message),
        course=course,
        view=view,
        assignment=assignment,
        version=version,
        address=address,
        zone=zone_of(course),
        spec=views.spec(readme or version.readme_en, f"{address}/files/"),
        quota=quota,
        best=submissions.best_of_team(session, team).get(assignment.id) if team else None,
        submissions=mine,
        targets=views.targets(manifest, reader),
        parts=manifest.parts,
        points=manifest.points,
        may_submit=team is not None and (role.is_staff or view.state is Openness.OPEN),
        max_files=MAX_FILES,
        max_bytes=MAX_FILE_BYTES,
        languages_allowed=manifest.languages,
        draft=draft,
    )


def _draft(session: Session, blobs: Blobs, user: User, public_id: str) -> Draft:
    """The form for changing an earlier submission; empty if that is not there, or not one text."""
    try:
        submission = submissions.get(session, public_id, user)
        (file,) = submission.files
        code = submissions.file(blobs, submission, file.name).decode()
    except (DomainError, ValueError):
        return Draft()
    return Draft(code, submission.language, submission.hardware, submission.mode.value)


def _version(session: Session, user: User, slug: str, track: str, name: str) -> AssignmentVersion:
    course, role = service.visible_course(session, slug, user)
    view = service.get_assignment(session, course, f"{track}/{name}", staff=role.is_staff)
    if view.version is None:
        raise NotFound(what="assignment")
    return view.version


def _title(view: AssignmentView, reader: Reader) -> str:
    if view.version is None:
        return view.assignment.name
    return view.version.title_zh if reader.language == "zh" else view.version.title_en


def _address(course: Course, name: str) -> str:
    return f"/courses/{quote(course.slug)}/assignments/{quote(name)}"
