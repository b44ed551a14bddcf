"""The API of submissions."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy.orm import Session

from server.access import AppSettings, Blobs, CurrentUser, Db, Paging, StaffUser, SubmittingUser
from server.courses import service as courses
from server.db.models import Submission, User
from server.errors import Forbidden, NotFound
from server.grading import service as grading
from server.logging import note
from server.schemas import Items, cut
from server.submissions import service
from server.submissions.schemas import AttemptOut, QuotaOut, ReviewBody, ReviewOut, SubmissionOut
from server.submissions.uploads import DOCUMENTED, Uploaded

router = APIRouter(prefix="/api/v1", tags=["submissions"])
_ASSIGNMENT = "/courses/{slug}/assignments/{track}/{assignment}"
_ONE = "/submissions/{submission_id}"


def _own(submission_id: str, session: Db, user: CurrentUser, request: Request) -> Submission:
    note(request, submission=submission_id)
    return service.get(session, submission_id, user)


Own = Annotated[Submission, Depends(_own)]


@router.post(f"{_ASSIGNMENT}/submissions", status_code=201, openapi_extra=DOCUMENTED)
def submit(
    slug: str,
    track: str,
    assignment: str,
    upload: Uploaded,
    request: Request,
    response: Response,
    session: Db,
    user: SubmittingUser,
    blobs: Blobs,
    settings: AppSettings,
) -> SubmissionOut:
    """Hand in files. Once this is answered, the submission cannot be lost."""
    course, _ = courses.visible_course(session, slug, user)
    created = service.create(
        session,
        blobs,
        settings,
        user=user,
        course=course,
        name=f"{track}/{assignment}",
        files=upload.files,
        mode=upload.mode,
        language=upload.language,
        hardware=upload.hardware,
    )
    note(request, submission=created.public_id)
    response.headers["Location"] = f"/api/v1/submissions/{created.public_id}"
    return SubmissionOut.of(created, grading.place(session, settings, created))


@router.get(f"{_ASSIGNMENT}/quota")
def quota(
    slug: str, track: str, assignment: str, session: Db, user: CurrentUser, settings: AppSettings
) -> QuotaOut:
    """What the caller's team may still use."""
    course, role = courses.visible_course(session, slug, user)
    view = courses.get_assignment(session, course, f"{track}/{assignment}", staff=role.is_staff)
    team = courses.team_of(session, course, user)
    if team is None:
        raise NotFound(what="team")
    found = service.quota(session, settings, assignment=view.assignment, course=course, team=team, user=user)
    return QuotaOut.model_validate(found, from_attributes=True)


@router.get("/courses/{slug}/submissions")
def submissions(
    slug: str,
    session: Db,
    user: CurrentUser,
    page: Paging,
    assignment: Annotated[str | None, Query(max_length=128)] = None,
    everyone: bool = False,
    team: Annotated[str | None, Query(max_length=128)] = None,
) -> Items[SubmissionOut]:
    """Submissions of the caller's team, newest first; staff: of all (`everyone`), or of one (`team`)."""
    course, _ = courses.visible_course(session, slug, user)
    rows = service.listing(
        session,
        course=course,
        user=user,
        name=assignment,
        everyone=everyone or team is not None,
        team_name=team,
        limit=page.limit,
        before=page.after or None,
    )
    after = rows[-1].id if len(rows) == page.limit else None
    return Items(items=[SubmissionOut.of(row) for row in rows], next=after)


@router.get(_ONE)
def submission(found: Own, session: Db, settings: AppSettings) -> SubmissionOut:
    """One submission of the caller's team, or of a course of which the caller is staff."""
    return SubmissionOut.of(found, grading.place(session, settings, found))


@router.get(
    f"{_ONE}/files/{{name}}", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
)
def file(name: str, found: Own, blobs: Blobs) -> Response:
    """The content of one file, as text whatever its name says."""
    return Response(service.file(blobs, found, name), media_type="text/plain; charset=utf-8")


@router.get(f"{_ONE}/report")
def report(found: Own, session: Db, user: CurrentUser) -> dict[str, Any]:
    """The Report that counts; staff see all of it, students what is theirs."""
    staff = service.viewer_is_staff(session, found, user)
    document = service.report(session, found, staff=staff)
    if document is None:
        raise NotFound(what="report")
    return document.model_copy(update={"token": ""}).model_dump(mode="json")


@router.get(f"{_ONE}/attempts")
def attempts(found: Own, session: Db, user: StaffUser, page: Paging) -> Items[AttemptOut]:
    """The attempts at grading, in order (staff)."""
    if not service.viewer_is_staff(session, found, user):
        raise Forbidden(needs="staff of the course", needs_zh="该课程的教学人员")
    rows, after = cut(grading.attempts(session, found), page.after, page.limit)
    return Items(items=[AttemptOut.model_validate(row, from_attributes=True) for row in rows], next=after)


def _reviewed(session: Session, found: Submission, user: User) -> ReviewOut:
    if not service.viewer_is_staff(session, found, user):
        raise Forbidden(needs="staff of the course", needs_zh="该课程的教学人员")
    score = grading.review_of(session, found)
    document = service.report(session, found, staff=True)
    if score is None or score.review is None or document is None:
        raise NotFound(what="review")
    evidence = [item.model_dump(mode="json") for item in document.evidence]
    return ReviewOut(state=score.review, note=score.review_note, ranked=score.ranked, evidence=evidence)


@router.get(f"{_ONE}/review")
def review(found: Own, session: Db, user: StaffUser) -> ReviewOut:
    """Why a result waits for staff before it is ranked, and what they decided (staff)."""
    return _reviewed(session, found, user)


@router.post(f"{_ONE}/review")
def decide(submission_id: str, body: ReviewBody, session: Db, user: StaffUser, request: Request) -> ReviewOut:
    """Rank a result that waits for staff, or leave it unranked (staff). A later decision replaces it."""
    note(request, submission=submission_id)
    found = service.get(session, submission_id, user)
    service.review(session, found, rank=body.rank, note=body.note, by=user)
    return _reviewed(session, found, user)


@router.get("/courses/{slug}/reviews")
def reviews(slug: str, session: Db, user: StaffUser, page: Paging) -> Items[SubmissionOut]:
    """Submissions whose results wait for staff before they are ranked, oldest first (staff)."""
    course = courses.staff_course(session, slug, user)
    rows, after = cut(grading.waiting_reviews(session, [course]), page.after, page.limit)
    return Items(items=[SubmissionOut.of(row) for row in rows], next=after)


@router.post(f"{_ONE}/cancel")
def cancel(submission_id: str, session: Db, user: SubmittingUser, request: Request) -> SubmissionOut:
    """Stop an unfinished submission; it costs nothing."""
    note(request, submission=submission_id)
    found = service.get(session, submission_id, user)
    service.cancel(session, found, by=user)
    return SubmissionOut.of(found)


@router.post(f"{_ONE}/rerun")
def rerun(
    submission_id: str, session: Db, user: SubmittingUser, settings: AppSettings, request: Request
) -> SubmissionOut:
    """Queue a final submission again: its author after a grader error or cancellation, staff at any time."""
    note(request, submission=submission_id)
    found = service.get(session, submission_id, user)
    service.rerun(session, settings, found, by=user)
    return SubmissionOut.of(found, grading.place(session, settings, found))
