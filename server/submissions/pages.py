"""Pages of submissions: one of them, live while it is graded, and lists."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from sqlalchemy.orm import Session

from grader.contract import Report, Text
from server.access import AppSettings, Blobs, CheckedForm, CurrentUser, Db
from server.blobs import BlobStore
from server.courses import service as courses
from server.courses.bundles import manifest_of
from server.db.models import Submission, User
from server.errors import DomainError, Unavailable
from server.grading import service as grading
from server.grading.states import SubmissionState
from server.schemas import Id, PlainText
from server.submissions import service
from server.submissions.schemas import NOTE_CHARS
from server.web import charts, i18n, markdown, report_view
from server.web.reader import PageReader
from server.web.render import page, zone_of
from server.web.words import N_

router = APIRouter(include_in_schema=False)
_SHOWN_BYTES = 64 << 10
"""Of all files of a submission together, the entry first; what goes beyond is offered for download only."""
_PAGE = 50


@dataclass(frozen=True)
class ShownFile:
    """A file with its source as HTML; None where it is too large to show, or its content is away."""

    name: str
    size: int
    source: Markup | None


@router.get("/submissions/{public_id}")
def submission_page(
    request: Request,
    reader: PageReader,
    session: Db,
    settings: AppSettings,
    blobs: Blobs,
    user: CurrentUser,
    public_id: str,
) -> Response:
    """Everything about one submission that the reader may see."""
    submission = service.get(session, public_id, user)
    staff = service.viewer_is_staff(session, submission, user)
    final = submission.state.is_final
    report = service.report(session, submission, staff=staff) if final else None
    milestones = [
        charts.Line(i18n.milestone_name(milestone, reader.language), milestone.fraction)
        for milestone in manifest_of(submission.version).milestones(submission.hardware)
    ]
    again = {SubmissionState.CANCELLED, SubmissionState.GRADER_ERROR}
    return page(
        request,
        reader,
        "submission.html",
        submission=submission,
        final=final,
        staff=staff,
        report=report,
        verdict_message=_message(submission, report, reader.language),
        milestones=milestones,
        next_milestone=_next(milestones, report),
        best=_best(session, submission) if final else None,
        may_submit=_may_submit(session, submission, user, staff=staff),
        place=None if final else grading.place(session, settings, submission),
        zone=zone_of(submission.course),
        assignment_address=f"/courses/{submission.course.slug}/assignments/{submission.assignment.name}",
        review=grading.review_of(session, submission) if final and staff else None,
        can_cancel=not final and not submission.cancel_requested,
        can_rerun=final and (staff or submission.state in again),
        files=_shown(blobs, submission),
        **report_view.helpers(reader),
    )


@router.get("/submissions/{public_id}/files/{name:path}")
def download(session: Db, blobs: Blobs, user: CurrentUser, public_id: str, name: str) -> Response:
    """One file as it was handed in; never shown by the browser itself."""
    content = service.file(blobs, service.get(session, public_id, user), name)
    return _attachment(content, name.rpartition("/")[2])


@router.get("/submissions/{public_id}/transcripts/{case:path}")
def transcript(session: Db, user: CurrentUser, public_id: str, case: str) -> Response:
    """What was said in a public case of a dialogue, as a file for `solmark replay`."""
    submission = service.get(session, public_id, user)
    staff = service.viewer_is_staff(session, submission, user)
    found = service.transcript(session, submission, case, staff=staff)
    return _attachment(found.dump().encode(), found.file_name)


@router.post("/submissions/{public_id}/cancel", dependencies=[CheckedForm])
def cancel(session: Db, user: CurrentUser, public_id: str) -> Response:
    """Stop a submission that is not final."""
    service.cancel(session, service.get(session, public_id, user), by=user)
    return RedirectResponse(f"/submissions/{public_id}?notice=cancelled", status_code=303)


@router.post("/submissions/{public_id}/rerun", dependencies=[CheckedForm])
def rerun(session: Db, settings: AppSettings, user: CurrentUser, public_id: str) -> Response:
    """Queue a final submission again."""
    service.rerun(session, settings, service.get(session, public_id, user), by=user)
    return RedirectResponse(f"/submissions/{public_id}?notice=rerun", status_code=303)


@router.post("/submissions/{public_id}/review", dependencies=[CheckedForm])
def review(
    session: Db,
    user: CurrentUser,
    public_id: str,
    rank: Annotated[bool, Form()],
    note: Annotated[PlainText, Form(max_length=NOTE_CHARS)] = "",
) -> Response:
    """Rank a result that waits for staff, or leave it unranked (staff)."""
    found = service.get(session, public_id, user)
    service.review(session, found, rank=rank, note=note, by=user)
    return RedirectResponse(f"/submissions/{public_id}?notice=reviewed", status_code=303)


@router.get("/courses/{slug}/submissions")
def submissions_page(
    request: Request,
    reader: PageReader,
    session: Db,
    user: CurrentUser,
    slug: str,
    assignment: str = "",
    team: Annotated[str, Query(max_length=128)] = "",
    mine: bool = False,
    before: Id | None = None,
) -> Response:
    """A course's submissions, newest first: the team's own, or for staff everybody's."""
    course, role = courses.visible_course(session, slug, user)
    everyone = role.is_staff and not mine
    names = [view.assignment.name for view in courses.assignments(session, course, staff=role.is_staff)]
    chosen = assignment if assignment in names else ""
    wanted = team.strip() if everyone else ""
    found = service.listing(
        session,
        course=course,
        user=user,
        name=chosen or None,
        everyone=everyone,
        team_name=wanted or None,
        limit=_PAGE + 1,
        before=before,
    )
    shown, more = found[:_PAGE], found[_PAGE:]
    query = {"assignment": chosen, "team": wanted, "mine": "1" if role.is_staff and mine else ""}

    def address(**changes: str) -> str:
        return "?" + urlencode({key: value for key, value in (query | changes).items() if value})

    return page(
        request,
        reader,
        "submissions.html",
        heading=reader.gettext(N_("All submissions") if everyone else N_("My submissions")),
        course=course,
        staff=role.is_staff,
        everyone=everyone,
        names=names,
        chosen=chosen,
        submissions=shown,
        team=wanted,
        first_address=address() if before is not None else "",
        next_address=address(before=str(shown[-1].id)) if more else "",
        zone=zone_of(course),
    )


def _attachment(content: bytes, name: str) -> Response:
    """A file that no browser shows by itself: somebody wrote it."""
    return Response(
        content,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"},
    )


def _may_submit(session: Session, submission: Submission, user: User, *, staff: bool) -> bool:
    """Whether the reader, one of its team, could hand in a changed one."""
    team = courses.team_of(session, submission.course, user)
    if team is None or team.id != submission.team_id:
        return False
    try:
        name = submission.assignment.name
        courses.require_open(
            courses.get_assignment(session, submission.course, name, staff=staff), staff=staff
        )
    except DomainError:
        return False
    return True


def _best(session: Session, submission: Submission) -> Submission | None:
    """The submission of the team that counts for the assignment, if it is another one than this."""
    best = service.best_of_team(session, submission.team).get(submission.assignment_id)
    return None if best is None or best.id == submission.id else best


def _message(submission: Submission, report: Report | None, language: str) -> str:
    if report is not None:
        return i18n.localized(report.message, language)
    stored = submission.message
    return i18n.localized(Text.model_validate(stored), language) if stored else ""


def _next(milestones: list[charts.Line], report: Report | None) -> charts.Line | None:
    """The lowest milestone above the submission's fraction."""
    reached = report.score.fraction if report and report.score else None
    above = [] if reached is None else [line for line in milestones if line.fraction > reached]
    return min(above, key=lambda line: line.fraction, default=None)


def _shown(blobs: BlobStore, submission: Submission) -> list[ShownFile]:
    left = _SHOWN_BYTES
    sources: dict[str, Markup] = {}
    for row in sorted(submission.files, key=lambda row: row.name != submission.entry):
        if row.size <= left:
            with suppress(Unavailable):
                content = service.file(blobs, submission, row.name)
                sources[row.name] = _source(content.decode("utf-8", "replace"), row.name, row.sha256)
                left -= row.size
    return [ShownFile(row.name, row.size, sources.get(row.name)) for row in submission.files]


@lru_cache(maxsize=256)
def _source(text: str, name: str, _sha256: str) -> Markup:
    return markdown.source(text, name)
