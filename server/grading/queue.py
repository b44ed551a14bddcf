"""The queue: who is next, what a worker is sent, where a submission stands, and repair of what got lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Literal

import structlog
from sqlalchemy.orm import Session

from grader import contract
from grader.contract import JobSpec, Mode, SourceFile, Target, Text, Verdict
from server.courses.bundles import manifest_of, target_of
from server.credentials import new_secret
from server.db.base import utc_now
from server.db.models import Attempt, Node, Submission
from server.db.session import Job, publish_after_commit
from server.grading import quarantine, queries, queue_queries, standings
from server.grading.lifecycle import deadline, fail, finish_attempt, give_up, move
from server.grading.queue_queries import Capacity
from server.grading.states import AttemptEvent, AttemptState, SubmissionEvent, SubmissionState
from server.settings import Settings

SWEEP_BATCH = 500
_LOST = Text(
    code="worker_lost",
    en="The machine that graded this stopped answering. It cost you nothing; staff have been told.",
    zh="评测机器失去响应。本次不计入您的次数，已通知教学人员。",
)
_UNDISPATCHABLE = Text(
    code="not_dispatched",
    en="The assignment's limits cannot be turned into a job. It cost you nothing; staff have been told.",
    zh="无法根据该作业的设置生成评测任务。本次不计入您的次数，已通知教学人员。",
)
_IMPOSSIBLE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What making a job of a stored manifest may raise; the database's own errors are none of these."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Place:
    """Where a queued submission stands: how many go first, and the seconds until it probably starts."""

    ahead: int
    expected_seconds: float | None
    """None: it will not start however long it waits, for a `reason`."""
    reason: Literal["no_worker", "quarantined"] | None = None
    """No worker of that hardware takes jobs, or the assignment is in quarantine; None: others go first."""


@dataclass(frozen=True)
class Sweep:
    """What one sweep did, in numbers of attempts."""

    republished: int = 0
    requeued: int = 0
    given_up: int = 0
    quarantined: int = 0
    """Nodes and assignments that failed too often."""


def dispatch(session: Session, settings: Settings, *, now: datetime | None = None) -> list[JobSpec]:
    """Open attempts for the fairest submissions, as many as there are free workers plus one for each class.

    Their jobs are published after the commit (`Job("run")`); none for a class without live workers.
    """
    now = now or utc_now()
    queue_queries.lock_dispatch(session)
    specs = []
    for hardware, capacity in sorted(_capacity(session, settings, now).items()):
        if capacity.room > 0:
            for submission in queue_queries.choose_next(session, hardware, capacity.room, now):
                spec = _open_and_publish(session, settings, submission, now)
                specs += [spec] if spec is not None else []
    return specs


def _open_and_publish(
    session: Session, settings: Settings, submission: Submission, now: datetime, node: Node | None = None
) -> JobSpec | None:
    """One submission's attempt, for `node` alone if given.

    What its assignment makes impossible ends it alone: the others go on.
    """
    try:
        with session.begin_nested():
            attempt = open_attempt(session, settings, submission, now=now)
            return _publish(session, attempt) if node is None else _try(session, attempt, node)
    except _IMPOSSIBLE as error:
        session.refresh(submission)
        _give_up_impossible(session, submission, error, now)
        return None


def _give_up_impossible(
    session: Session, submission: Submission, error: Exception, now: datetime
) -> Literal["given_up"]:
    cause = f"{type(error).__name__}: {error}"
    _log.error("not dispatched", submission=submission.public_id, cause=cause, exc_info=error)
    give_up(session, submission, Verdict.ASSIGNMENT_ERROR, _UNDISPATCHABLE, now, cause=cause)
    return "given_up"


def open_attempt(
    session: Session, settings: Settings, submission: Submission, *, now: datetime | None = None
) -> Attempt:
    """A new attempt at a queued submission (locked by the caller), with a lease and a token of its own."""
    now = now or utc_now()
    move(session, submission, SubmissionEvent.DISPATCH)
    attempt = Attempt(
        course_id=submission.course_id,
        team_id=submission.team_id,
        submission=submission,
        number=queries.last_attempt_number(session, submission) + 1,
        token=new_secret(),
        reason=submission.reason,
        hardware=submission.hardware,
        state=AttemptState.PUBLISHED,
        opened=now,
        published=now,
        lease_until=now + timedelta(seconds=settings.pickup_seconds),
        deadline=deadline(settings, submission, now + timedelta(seconds=settings.queue_seconds)),
    )
    session.add(attempt)
    session.flush()
    return attempt


def job_spec(attempt: Attempt) -> JobSpec:
    """The job of an attempt as it goes over the wire."""
    submission = attempt.submission
    manifest = manifest_of(submission.version)
    target = target_of(manifest, submission.hardware)
    return JobSpec(
        submission=submission.public_id,
        attempt=attempt.number,
        token=attempt.token,
        mode=submission.mode,
        reason=attempt.reason,
        assignment=manifest.id,
        bundle=manifest.digest,
        files=tuple(
            SourceFile(name=file.name, sha256=file.sha256, size=file.size) for file in submission.files
        ),
        language=contract.Language(submission.language),
        target=Target(hardware=submission.hardware, devices=submission.devices),
        limits=target.limits if target is not None else contract.JobLimits(),
        deadline=attempt.deadline.timestamp(),
    )


def expected_seconds(session: Session, assignment_id: int, hardware: str, mode: Mode) -> float | None:
    """Device seconds that the last submissions of that kind took on average; None if there were none."""
    return queries.average_seconds(session, assignment_id, hardware, mode.value)


def place(
    session: Session, settings: Settings, submission: Submission, *, now: datetime | None = None
) -> Place | None:
    """Where the submission stands in the queue; None if it is not waiting.

    Without `now` it may be where it stood a moment ago (`standings`).
    """
    count_anew = now is not None
    now = now or utc_now()
    if submission.state is not SubmissionState.QUEUED:
        return None
    if submission.assignment.quarantined is not None:
        return Place(0, None, "quarantined")
    before = standings.ahead_of(session, submission, now, anew=count_anew)
    if before is None:
        return None
    capacity = _capacity(session, settings, now).get(submission.hardware, Capacity())
    left, own_left, under_way = 0.0, 0.0, 0
    for user_id, expected, started in queue_queries.under_way(session, submission.hardware):
        passed = (now - started).total_seconds() if started is not None else 0.0
        rest = max(0.0, expected - passed)
        left, under_way = left + rest, under_way + 1
        own_left += rest if user_id == submission.user_id else 0.0
    ahead = before.count + under_way
    if not capacity.alive:
        return Place(ahead, None, "no_worker")
    own = own_left + before.own_seconds
    if capacity.free > capacity.published + before.count:
        return Place(ahead, float(ceil(own)))  # Only their own keep this student waiting.
    return Place(ahead, float(ceil(max((left + before.seconds) / capacity.alive, own))))


def sweep(session: Session, settings: Settings, *, now: datetime | None = None) -> Sweep:
    """Repair what messages or workers lost; call it every few seconds.

    A published job that nobody claimed is published again under the same token if a worker is idle, and goes
    back to the queue if none is alive. A claimed job whose lease is over is lost: the submission is queued
    again, or ends as a grader error after `max_attempts`.
    """
    now = now or utc_now()
    counts = {"republished": 0, "requeued": 0, "given_up": 0}
    for attempt_id, submission_id in queries.expired(session, now, SWEEP_BATCH):
        submission = queries.lock_free_submission(session, submission_id)
        if submission is None:
            continue  # Somebody is at it; whoever that is may take long, and must not keep the others.
        attempt = queries.refresh_attempt(session, attempt_id)
        if not attempt.state.is_open or attempt.lease_until >= now:
            continue  # Somebody was faster.
        if attempt.state is AttemptState.PUBLISHED:
            try:
                done: str | None = _sweep_unclaimed(session, settings, submission, attempt, now)
            except _IMPOSSIBLE as error:
                finish_attempt(session, attempt, AttemptEvent.EXPIRE, now)
                done = _give_up_impossible(session, submission, error, now)
        else:
            _log.warning(
                "lease expired", submission=submission.public_id, attempt=attempt.number, node=attempt.node
            )
            finish_attempt(
                session, attempt, AttemptEvent.EXPIRE, now, verdict=_blame_of_loss(settings, attempt)
            )
            done = fail(session, settings, submission, Verdict.GRADER_ERROR, _LOST, now)
        if done:
            counts[done] += 1
    counts["quarantined"] = quarantine.look(session, now)
    _try_on(session, settings, now)
    _try_nodes(session, settings, now)
    publish_after_commit(session, Job("dispatch"))
    return Sweep(**counts)


def _try_on(session: Session, settings: Settings, now: datetime) -> None:
    """Dispatch what tells whether an assignment in quarantine belongs there."""
    for submission in quarantine.trials(session, now):
        if _capacity(session, settings, now).get(submission.hardware, Capacity()).room > 0:
            _log.info("assignment tried on", submission=submission.public_id)
            _open_and_publish(session, settings, submission, now)


def _try_nodes(session: Session, settings: Settings, now: datetime) -> None:
    """Send to each node in quarantine what tells whether it belongs there."""
    since = now - timedelta(seconds=settings.worker_silent_seconds)
    for node, submission in quarantine.node_trials(session, since, now):
        _log.info("node tried", node=node.name, submission=submission.public_id)
        _open_and_publish(session, settings, submission, now, node)


def _blame_of_loss(settings: Settings, attempt: Attempt) -> Verdict | None:
    """A grader error if the job took its worker along, which is back by now; else nothing is known.

    A node that was switched off, or a server that nobody reached for a minute, says nothing about grading.
    """
    lost = attempt.lease_until - timedelta(seconds=settings.lease_seconds / 2)
    is_back = attempt.worker is not None and attempt.worker.last_heartbeat > lost
    return Verdict.GRADER_ERROR if is_back else None


def _capacity(session: Session, settings: Settings, now: datetime) -> Mapping[str, Capacity]:
    return queue_queries.capacity(session, now - timedelta(seconds=settings.worker_silent_seconds))


def _publish(session: Session, attempt: Attempt) -> JobSpec:
    spec = job_spec(attempt)
    job = Job("run", {"spec": spec.model_dump_json(), "hardware": attempt.hardware})
    publish_after_commit(session, job)
    return spec


def _try(session: Session, attempt: Attempt, node: Node) -> JobSpec:
    """Publish an attempt where that node alone finds it. Until it is claimed, `attempt.node` says so."""
    attempt.node = node.name
    spec = job_spec(attempt)
    arguments = {"token_digest": node.token_digest, "hardware": attempt.hardware}
    publish_after_commit(session, Job("try", {"spec": spec.model_dump_json(), **arguments}))
    return spec


def _sweep_unclaimed(
    session: Session, settings: Settings, submission: Submission, attempt: Attempt, now: datetime
) -> Literal["republished", "requeued"] | None:
    capacity = _capacity(session, settings, now).get(attempt.hardware, Capacity())
    if not capacity.alive:
        # Else messages would pile up for workers that may never come.
        finish_attempt(session, attempt, AttemptEvent.EXPIRE, now)
        move(session, submission, SubmissionEvent.RETURN)
        return "requeued"
    attempt.lease_until = now + timedelta(seconds=settings.pickup_seconds)
    waited = (now - attempt.published).total_seconds()
    if not capacity.free and waited < settings.queue_seconds:
        return None  # Its turn has not come: the message waits behind the jobs that run.
    attempt.published, attempt.node = now, ""
    attempt.deadline = deadline(settings, submission, now + timedelta(seconds=settings.queue_seconds))
    _publish(session, attempt)
    return "republished"
