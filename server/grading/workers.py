"""Grading nodes and their workers: who they are, what they work on, and that they live."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy.orm import Session

from server.blobs import BlobStore, MissingBlobError, keep
from server.credentials import NODE_PREFIX, digest, new_secret
from server.db.audit import record
from server.db.base import utc_now
from server.db.models import Attempt, AttemptBlob, Node, Submission, User, Worker
from server.db.models.node import NodeState
from server.db.session import Job, publish_after_commit
from server.errors import DigestMismatch, NodeStopped, NotFound, StaleAttempt
from server.grading import queries
from server.grading.lifecycle import cancel_job, deadline, finish_attempt, lock_by_token, move
from server.grading.states import AttemptEvent, AttemptState, SubmissionEvent, next_attempt
from server.settings import Settings

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Heartbeat:
    """The server's answer to a worker: what it should be, and whether its job was taken away."""

    state: NodeState
    cancelled: bool


def register_node(session: Session, name: str) -> tuple[Node, str]:
    """Create a node, or give an existing one a new token. The token is returned once and not kept."""
    token = new_secret(NODE_PREFIX)
    node = queries.node_by_name(session, name)
    if node is None:
        node = Node(name=name, token_digest=digest(token))
        session.add(node)
    node.token_digest = digest(token)
    session.flush()
    record(session, "node.register", name, actor=None, course_id=None)
    return node, token


def node_by_token(session: Session, token: str) -> Node | None:
    """The node that this token belongs to."""
    return queries.node_by_token(session, digest(token))


def set_node_state(
    session: Session, node: Node, state: NodeState, *, by: User, now: datetime | None = None
) -> None:
    """Pause, drain, set aside, quarantine or reactivate a node.

    Its workers learn it with their next heartbeat and finish what they have; only from a node that is set
    aside the jobs return to the queue at once.
    """
    now = now or utc_now()
    if node.state is NodeState.QUARANTINED and state is not NodeState.QUARANTINED:
        node.quarantine, node.trusted_since = None, now
    node.state = state
    if state is NodeState.SET_ASIDE:
        for attempt_id, submission_id in queries.running_attempts(session, node):
            submission = queries.lock_submission(session, submission_id)
            attempt = queries.refresh_attempt(session, attempt_id)
            if attempt.state is AttemptState.RUNNING:
                _return(session, submission, attempt, now)
                publish_after_commit(session, cancel_job(attempt))
    record(session, "node.state", node.name, actor=by, course_id=None, state=state.value)
    publish_after_commit(session, Job("dispatch"))


def node(session: Session, name: str) -> Node:
    """The node of that name; raises `NotFound`."""
    found = queries.node_by_name(session, name)
    if found is None:
        raise NotFound(what=f"node {name}")
    return found


def nodes(session: Session) -> Sequence[Node]:
    """All nodes, by name."""
    return queries.nodes(session)


def jobs_of_workers(session: Session) -> Mapping[int, Attempt]:
    """By worker's id, the attempt that it works on, with its submission."""
    return queries.jobs_of_workers(session)


def workers(session: Session) -> Sequence[Worker]:
    """All workers that were ever heard of, with their nodes."""
    return queries.workers(session)


def claim(
    session: Session, settings: Settings, *, token: str, node: Node, worker: str, now: datetime | None = None
) -> Attempt:
    """A worker begins with the job of that token. Claiming again is harmless for the same worker.

    Raises `StaleAttempt` if the attempt is over or another worker has it: the message was a duplicate. A
    worker of a node that is not active took a message meant for others: `NodeStopped`, and it is sent again.
    What is meant for a node in quarantine alone (`quarantine.node_trials`) is no such message.
    """
    now = now or utc_now()
    submission, attempt = lock_by_token(session, token)
    if attempt is None or submission is None or not attempt.state.is_open:
        raise StaleAttempt
    tried = node.state is NodeState.QUARANTINED and attempt.node == node.name
    if node.state is not NodeState.ACTIVE and attempt.state is AttemptState.PUBLISHED and not tried:
        attempt.lease_until = now  # The message is gone: the next sweep need not wait for its pickup.
        raise NodeStopped(node=node.name, state=node.state.value)
    claimant, _ = _worker(session, node, worker, attempt.hardware, now)
    if attempt.state is AttemptState.PUBLISHED:
        attempt.state = next_attempt(attempt.state, AttemptEvent.CLAIM)
        attempt.started = now
        attempt.node = node.name
        attempt.worker = claimant
        attempt.deadline = deadline(settings, submission, now)
        move(session, submission, SubmissionEvent.START)
    elif attempt.worker is not claimant:
        raise StaleAttempt
    attempt.lease_until = min(now + timedelta(seconds=settings.lease_seconds), attempt.deadline)
    return attempt


def return_job(session: Session, *, token: str, node: Node, now: datetime | None = None) -> None:
    """A worker that must stop gives its job back: the submission is queued again, at no cost.

    Raises `StaleAttempt` if the node does not have that job.
    """
    now = now or utc_now()
    submission, attempt = lock_by_token(session, token)
    if attempt is None or submission is None or attempt.state is not AttemptState.RUNNING:
        raise StaleAttempt
    if attempt.node != node.name:
        raise StaleAttempt
    _return(session, submission, attempt, now)


def heartbeat(
    session: Session,
    settings: Settings,
    *,
    node: Node,
    worker: str,
    hardware: str,
    devices: int = 1,
    state: NodeState = NodeState.ACTIVE,
    versions: dict[str, Any],
    health: dict[str, Any] | None = None,
    consuming: bool = True,
    token: str | None = None,
    now: datetime | None = None,
) -> Heartbeat:
    """A worker lives; the lease of the job it works on is renewed, never beyond the attempt's deadline.

    Not `consuming`: it lives, but no message of the queue reaches it, so nothing is published for it. The
    answer says `cancelled` for a job that this worker must drop.
    """
    now = now or utc_now()
    found, new = _worker(session, node, worker, hardware, now)
    silent = now - found.last_heartbeat > timedelta(seconds=settings.worker_silent_seconds)
    if found.consuming is not consuming:
        _log.log(
            logging.INFO if consuming else logging.ERROR,
            "worker consumes again" if consuming else "worker lives but does not consume",
            node=node.name, worker=worker,
        )  # fmt: skip
    changed = (found.state, found.hardware, found.consuming) != (state, hardware, consuming)
    if new or silent or changed:
        publish_after_commit(session, Job("dispatch"))
    node.last_heartbeat = found.last_heartbeat = now
    found.hardware, found.devices, found.state, found.versions = hardware, devices, state, versions
    found.health, found.consuming = health or {}, consuming
    if token is None:
        return Heartbeat(node.state, cancelled=False)
    _, attempt = lock_by_token(session, token)
    if attempt is None or not attempt.state.is_open or attempt.deadline < now:
        return Heartbeat(node.state, cancelled=True)
    if attempt.state is AttemptState.PUBLISHED:
        return Heartbeat(node.state, cancelled=False)  # It is about to be claimed.
    if attempt.worker is not found:
        return Heartbeat(node.state, cancelled=True)
    attempt.lease_until = min(now + timedelta(seconds=settings.lease_seconds), attempt.deadline)
    return Heartbeat(node.state, cancelled=False)


def claimed_attempt(session: Session, node: Node, token: str) -> Attempt:
    """The attempt of that token, which this node has claimed and not finished; raises `StaleAttempt`."""
    attempt = queries.attempt_by_token(session, token)
    if attempt is None or attempt.state is not AttemptState.RUNNING or attempt.node != node.name:
        raise StaleAttempt
    return attempt


def job_blob(session: Session, blobs: BlobStore, attempt: Attempt, sha256: str) -> bytes:
    """A blob that the attempt's job names; raises `NotFound` for any other."""
    if sha256 not in queries.attempt_blobs(session, attempt):
        raise NotFound(what="blob")
    try:
        return blobs.read(sha256)
    except MissingBlobError:
        _log.error("blob missing", sha256=sha256, submission=attempt.submission.public_id)
        raise NotFound(what="blob") from None


def store_log(session: Session, blobs: BlobStore, attempt: Attempt, sha256: str, data: bytes) -> None:
    """Keep a large log that the worker uploads; raises `DigestMismatch`."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DigestMismatch
    keep(session, blobs, data)
    if sha256 not in queries.uploaded_blobs(session, attempt):
        session.add(AttemptBlob(attempt_id=attempt.id, sha256=sha256))


def _return(session: Session, submission: Submission, attempt: Attempt, now: datetime) -> None:
    finish_attempt(session, attempt, AttemptEvent.RETURN, now)
    move(session, submission, SubmissionEvent.RETURN)
    publish_after_commit(session, Job("dispatch"))


def _worker(session: Session, node: Node, name: str, hardware: str, now: datetime) -> tuple[Worker, bool]:
    """The worker of that name, and whether it is new."""
    found = queries.worker(session, node, name)
    if found is not None:
        return found, False
    found = Worker(
        node_id=node.id, name=name, hardware=hardware, last_heartbeat=now, versions={}, consuming=True
    )
    session.add(found)
    session.flush()
    return found, True
