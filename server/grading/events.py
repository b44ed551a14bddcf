"""The live stream of one submission, for pages and the command line: server-sent events."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import StreamingResponse
from redis import asyncio as redis_async

from server.access import Admission, AppDatabase, AppSettings, CurrentUser, Db
from server.db.models import User
from server.db.session import Database
from server.grading import service as grading
from server.grading.stream import STATE_SECONDS, State, follow
from server.settings import Settings
from server.submissions import service as submissions
from server.submissions.schemas import SubmissionOut

router = APIRouter(prefix="/api/v1", tags=["submissions"])


def _visible(submission_id: str, user: CurrentUser, session: Db) -> str:
    """The submission's id, if this user may see it; raises `NotFound`."""
    return submissions.get(session, submission_id, user).public_id


@router.get(
    "/submissions/{submission_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(
    request: Request,
    submission: Annotated[str, Depends(_visible)],
    user: CurrentUser,
    database: AppDatabase,
    settings: AppSettings,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
) -> StreamingResponse:
    """Follow a submission until it is final.

    `state`: what the database says, whenever that changes. `progress`: an `Event` of the attempt, with an id
    from which the browser resumes. `final`: the last, again from the database.
    """

    admission: Admission = request.app.state.admission

    async def state() -> State:
        async with admission.following:
            return await to_thread.run_sync(_state, database, settings, submission, user)

    return StreamingResponse(
        _followed(settings, submission, last_event_id, state),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _followed(
    settings: Settings, submission: str, last_event_id: str | None, state: Callable[[], Awaitable[State]]
) -> AsyncIterator[bytes]:
    if not settings.broker_url:
        async for line in follow(None, submission, last_event_id, state):
            yield line
        return
    # A connection of its own: a reader waits on it, and must not keep others waiting.
    async with redis_async.Redis.from_url(
        settings.broker_url, socket_timeout=STATE_SECONDS + 3.0, socket_connect_timeout=2.0
    ) as broker:
        async for line in follow(broker, submission, last_event_id, state):
            yield line


def _state(database: Database, settings: Settings, submission_id: str, user: User) -> dict[str, Any]:
    with database.read() as session:
        submission = submissions.get(session, submission_id, user)
        place = grading.place(session, settings, submission)
        return SubmissionOut.of(submission, place).model_dump(mode="json")
