"""What staff see of the queue and of the workers."""

from datetime import timedelta

from fastapi import APIRouter, Request, Response

from server.access import AppSettings, CurrentUser, Db
from server.db.base import utc_now
from server.db.models import Worker
from server.grading import service
from server.submissions import service as submissions
from server.web.reader import PageReader
from server.web.render import page, zone_of
from server.web.words import N_, Word

router = APIRouter(include_in_schema=False)
SILENT = Word(N_("Silent"), "bad", "!")


@router.get("/staff/queue")
def queue_page(
    request: Request, reader: PageReader, session: Db, settings: AppSettings, user: CurrentUser
) -> Response:
    """Unfinished submissions of the reader's courses as staff, and all workers."""
    since = utc_now() - timedelta(seconds=settings.worker_silent_seconds)

    def alive(worker: Worker) -> bool:
        return worker.last_heartbeat >= since

    return page(
        request,
        reader,
        "queue.html",
        waiting=submissions.unfinished(session, user),
        workers=service.workers(session),
        alive=alive,
        silent=SILENT,
        zone=zone_of(None),
    )
