"""HTTP for grading nodes. A node's token opens nothing but its own jobs. What staff do is in `staff_api`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response

from server.access import AppSettings, Blobs, CurrentNode, Db
from server.db.base import utc_now
from server.db.models import Attempt
from server.db.models.node import NodeState
from server.grading import service, staff_api
from server.grading.schemas import ClaimBody, ClaimOut, HeartbeatBody, HeartbeatOut
from server.logging import note

AttemptToken = Annotated[str, Header(alias="X-Solmark-Attempt", min_length=16, max_length=128)]
MaybeAttemptToken = Annotated[str | None, Header(alias="X-Solmark-Attempt", min_length=16, max_length=128)]


async def _content(request: Request) -> bytes:
    return await request.body()


Content = Annotated[bytes, Depends(_content)]
router = APIRouter()
_internal = APIRouter(prefix="/internal", tags=["internal"])


def _note(request: Request, attempt: Attempt) -> None:
    note(request, submission=attempt.submission.public_id, attempt=attempt.number)


@_internal.post("/attempts/claim")
def claim(
    body: ClaimBody,
    request: Request,
    session: Db,
    node: CurrentNode,
    token: AttemptToken,
    settings: AppSettings,
) -> ClaimOut:
    """Begin with a job; 409 if it is over or somebody else's, so that the message is dropped."""
    attempt = service.claim(session, settings, token=token, node=node, worker=body.worker)
    _note(request, attempt)
    return ClaimOut(
        deadline=attempt.deadline.timestamp(),
        seconds=(attempt.deadline - utc_now()).total_seconds(),
        lease_seconds=settings.lease_seconds,
        heartbeat_seconds=settings.heartbeat_seconds,
    )


@_internal.post("/attempts/return", status_code=204)
def return_job(request: Request, session: Db, node: CurrentNode, token: AttemptToken) -> None:
    """Give a job back unfinished, at no cost to anybody."""
    _note(request, service.claimed_attempt(session, node, token))
    service.return_job(session, token=token, node=node)


@_internal.post("/heartbeat")
def heartbeat(
    body: HeartbeatBody,
    session: Db,
    node: CurrentNode,
    settings: AppSettings,
    token: MaybeAttemptToken = None,
) -> HeartbeatOut:
    """Say that a worker lives, and which job it has."""
    answer = service.heartbeat(
        session,
        settings,
        node=node,
        worker=body.worker,
        hardware=body.hardware,
        devices=body.devices,
        state=NodeState(body.state),
        versions=body.versions,
        health=body.health.model_dump(),
        consuming=body.consuming,
        token=token,
    )
    return HeartbeatOut(state=answer.state, cancelled=answer.cancelled)


@_internal.get("/blobs/{sha256}", response_class=Response)
def blob(
    sha256: str, request: Request, session: Db, node: CurrentNode, token: AttemptToken, blobs: Blobs
) -> Response:
    """A blob that the job names: its bundle or one of its files."""
    attempt = service.claimed_attempt(session, node, token)
    _note(request, attempt)
    content = service.job_blob(session, blobs, attempt, sha256)
    return Response(content, media_type="application/octet-stream")


@_internal.post("/blobs/{sha256}", status_code=204)
def store_log(
    sha256: str,
    content: Content,
    request: Request,
    session: Db,
    node: CurrentNode,
    token: AttemptToken,
    blobs: Blobs,
) -> None:
    """Upload a large log of the job."""
    attempt = service.claimed_attempt(session, node, token)
    _note(request, attempt)
    service.store_log(session, blobs, attempt, sha256, content)


router.include_router(_internal)
router.include_router(staff_api.router)
