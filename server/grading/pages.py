"""What staff see of the queue, the workers and what was quarantined, and what they can do about it."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from server.access import AppSettings, CheckedForm, CurrentUser, Db
from server.courses import service as courses
from server.db.base import utc_now
from server.db.models import Course, Worker
from server.db.models.node import NodeState
from server.grading import service
from server.grading.staff_api import StaffedCourses
from server.schemas import PlainText
from server.submissions import service as submissions
from server.web.reader import PageReader
from server.web.render import page, zone_of
from server.web.words import N_, Word

router = APIRouter(include_in_schema=False)
SILENT = Word(N_("Silent"), "bad", "!")
DEAF = Word(N_("Does not consume"), "bad", "!")
_BACK = "/staff/queue"


@router.get(_BACK)
def queue_page(
    request: Request,
    reader: PageReader,
    session: Db,
    settings: AppSettings,
    user: CurrentUser,
    staffed: StaffedCourses,
) -> Response:
    """Unfinished submissions of the reader's courses as staff, workers and nodes, and what is held back."""
    since = utc_now() - timedelta(seconds=settings.worker_silent_seconds)

    def alive(worker: Worker) -> bool:
        return worker.last_heartbeat >= since

    return page(
        request,
        reader,
        "queue.html",
        waiting=submissions.unfinished(session, user),
        workers=service.workers(session),
        jobs=service.jobs_of_workers(session),
        visible={course.id for course in staffed},
        nodes=service.nodes(session),
        offered=list(NodeState),
        assignments=[
            (course, view.assignment.name)
            for course in staffed
            for view in courses.assignments(session, course, staff=True)
        ],
        quarantined=service.quarantined_assignments(session, staffed),
        to_review=service.waiting_reviews(session, staffed),
        alive=alive,
        silent=SILENT,
        deaf=DEAF,
        zone=zone_of(None),
    )


@router.post("/staff/nodes/{name}", dependencies=[CheckedForm])
def change_node(
    session: Db,
    user: CurrentUser,
    _staffed: StaffedCourses,
    name: str,
    state: Annotated[NodeState, Form()],
) -> Response:
    """Pause, drain, set aside, quarantine or reactivate a node."""
    service.set_node_state(session, service.node(session, name), state, by=user)
    return RedirectResponse(_BACK, status_code=303)


def _staff_course(session: Db, user: CurrentUser, slug: str) -> Course:
    return courses.staff_course(session, slug, user)


@router.post("/courses/{slug}/assignments/{track}/{assignment}/lift", dependencies=[CheckedForm])
def lift(
    session: Db,
    user: CurrentUser,
    course: Annotated[Course, Depends(_staff_course)],
    track: str,
    assignment: str,
    rejudge: Annotated[bool, Form()] = False,
) -> Response:
    """Let an assignment be graded again; with `rejudge`, also what failed through no fault of its author."""
    view = courses.get_assignment(session, course, f"{track}/{assignment}", staff=True)
    service.lift(session, view.assignment, by=user)
    if rejudge:
        service.rejudge(session, view.assignment, by=user, errors_only=True)
    return RedirectResponse(_BACK, status_code=303)


@router.post("/staff/rejudge", dependencies=[CheckedForm])
def rejudge(
    session: Db,
    user: CurrentUser,
    assignment: Annotated[PlainText, Form()],
    errors_only: Annotated[bool, Form()] = False,
) -> Response:
    """Grade all submissions of an assignment, given as `course track/slug`, again: behind everybody's own."""
    slug, _, name = assignment.partition(" ")
    course = courses.staff_course(session, slug, user)
    view = courses.get_assignment(session, course, name, staff=True)
    service.rejudge(session, view.assignment, by=user, errors_only=errors_only)
    return RedirectResponse(_BACK, status_code=303)
