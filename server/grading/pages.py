"""What staff see of the queue and of the workers."""

from datetime import timedelta

from fastapi import APIRouter, Request, Response

from server.access import AppSettings, CurrentUser, Db
from server.courses import service as courses
from server.db.base import utc_now
from server.db.models import Worker
from server.errors import Forbidden
from server.grading import service
from server.submissions import service as submissions
from server.web.reader import PageReader
from server.web.render import page, zone_of
from server.web.words import N_, Word

router = APIRouter(include_in_schema=False)
_RECENT = 200
"""Submissions of a course, newest first, among which unfinished ones are looked for."""
SILENT = Word(N_("Silent"), "bad", "!")


@router.get("/staff/queue")
def queue_page(
    request: Request, reader: PageReader, session: Db, settings: AppSettings, user: CurrentUser
) -> Response:
    """Unfinished submissions of the reader's courses as staff, and all workers."""
    staffed = [course for course, role in courses.courses_of(session, user) if role.is_staff]
    if not staffed:
        raise Forbidden(needs="staff")
    waiting = [
        one
        for course in staffed
        for one in submissions.listing(session, course=course, user=user, everyone=True, limit=_RECENT)
        if not one.state.is_final
    ]
    since = utc_now() - timedelta(seconds=settings.worker_silent_seconds)

    def alive(worker: Worker) -> bool:
        return worker.last_heartbeat >= since

    return page(
        request,
        reader,
        "queue.html",
        waiting=sorted(waiting, key=lambda one: one.queued),
        workers=service.workers(session),
        alive=alive,
        silent=SILENT,
        zone=zone_of(staffed[0]),
    )
