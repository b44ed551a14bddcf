"""The life of an attempt: dispatch, claim, heartbeat, Report, and what happens when one of them stays away.

The submission's row is the lock for everything about it: whoever changes an attempt locks it first. States change
only through `server.grading.states`.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Literal

import structlog
from sqlalchemy.orm import Session

from grader import contract
from grader.contract import FailureClass, JobSpec, Mode, Reason, SourceFile, Target, Text, Verdict
from server.blobs import BlobStore, MissingBlobError, keep
from server.courses.bundles import manifest_of, target_of
from server.db.audit import record
from server.db.base import utc_now
from server.db.models import (
    Attempt,
    AttemptBlob,
    CaseResult,
    Node,
    Report,
    Score,
    Submission,
    User,
    Worker,
)
from server.db.models.node import NodeState
from server.db.session import Job, publish_after_commit
from server.errors import DigestMismatch, NotFound, StaleAttempt, WrongState
from server.grading import queries
from server.grading.states import (
    AttemptEvent,
    AttemptState,
    SubmissionEvent,
    next_attempt,
    next_submission,
)
from server.security import NODE_PREFIX, digest, new_secret
from server.settings import Settings

SWEEP_BATCH = 500
DEADLINE_SLACK = 60.0
"""Seconds that an attempt may take beyond its limit: fetching, starting, sending the Report."""
FAULTY_KEPT = 65536
"""Characters kept of a Report that cannot be read."""
_TOKEN = re.compile(rb'"token"\s*:\s*"([A-Za-z0-9_-]{16,128})"')
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Place:
    """Where a queued submission stands: how many go first, and the seconds until it probably starts."""

    ahead: int
    expected_seconds: float | None
    """None: no worker of that hardware is alive."""


@dataclass(frozen=True)
class Sweep:
    """What one sweep did, in numbers of attempts."""

    republished: int = 0
    requeued: int = 0
    given_up: int = 0


@dataclass(frozen=True)
class Heartbeat:
    """The server's answer to a worker: what it should be, and whether its job was taken away."""

    state: NodeState
    cancelled: bool


@dataclass(frozen=True)
class Stored:
    """What became of a Report. For each of these outcomes the worker may forget it."""

    outcome: Literal["stored", "duplicate", "late", "refused"]
    submission: str | None
    attempt: int | None
    text: str = ""


# Queue


def dispatch(
    session: Session, settings: Settings, *, hardware: str | None = None, now: datetime | None = None
) -> list[JobSpec]:
    """Open attempts for the fairest submissions, as many as there are free workers plus one for each class.

    Their jobs are published after the commit (`Job("run")`). Nothing is published for a class without live workers.
    """
    now = now or utc_now()
    classes = [hardware] if hardware else queries.queued_hardware(session)
    specs = []
    for name in sorted(classes):
        queries.lock_dispatch(session)
        alive = _live_workers(session, settings, name, now)
        room = alive + 1 - queries.count_attempts(session, name) if alive else 0
        if room > 0:
            for submission in queries.choose_next(session, name, room, now):
                attempt = open_attempt(session, settings, submission, now=now)
                specs.append(_publish(session, attempt))
    return specs


def open_attempt(
    session: Session, settings: Settings, submission: Submission, *, now: datetime | None = None
) -> Attempt:
    """A new attempt at a queued submission (locked by the caller), with a lease and a token of its own."""
    now = now or utc_now()
    _move(session, submission, SubmissionEvent.DISPATCH)
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
        deadline=_deadline(settings, submission, now + timedelta(seconds=settings.queue_seconds)),
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


def place(
    session: Session, settings: Settings, submission: Submission, *, now: datetime | None = None
) -> Place | None:
    """Where the submission stands in the queue; None if it is not waiting."""
    now = now or utc_now()
    before = queries.queue_before(session, submission, now)
    if before is None:
        return None
    ahead, seconds = before
    alive = _live_workers(session, settings, submission.hardware, now)
    under_way = queries.count_attempts(session, submission.hardware)
    if not alive:
        return Place(ahead + under_way, None)
    waiting = seconds + under_way * submission.expected_seconds
    free = alive > under_way + ahead
    return Place(ahead + under_way, 0.0 if free else float(ceil(waiting / alive)))


def sweep(session: Session, settings: Settings, *, now: datetime | None = None) -> Sweep:
    """Repair what messages or workers lost; call it every few seconds.

    A published job that nobody claimed is published again under the same token if a worker is idle, and goes back
    to the queue if none is alive. A claimed job whose lease is over is lost: the submission is queued again, or
    ends as a grader error after `max_attempts`.
    """
    now = now or utc_now()
    counts = {"republished": 0, "requeued": 0, "given_up": 0}
    for attempt_id, submission_id in queries.expired(session, now, SWEEP_BATCH):
        submission = queries.lock_submission(session, submission_id)
        attempt = queries.refresh_attempt(session, attempt_id)
        if not attempt.state.is_open or attempt.lease_until >= now:
            continue  # Somebody was faster.
        if attempt.state is AttemptState.PUBLISHED:
            done: str | None = _sweep_unclaimed(session, settings, submission, attempt, now)
        else:
            _log.warning(
                "lease expired", submission=submission.public_id, attempt=attempt.number, node=attempt.node
            )
            _finish_attempt(attempt, AttemptEvent.EXPIRE, now)
            done = _fail(session, settings, submission, Verdict.GRADER_ERROR, _LOST, now)
        if done:
            counts[done] += 1
    publish_after_commit(session, Job("dispatch"))
    return Sweep(**counts)


# Workers


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


def set_node_state(session: Session, node: Node, state: NodeState, *, by: User) -> None:
    """Pause, drain, set aside or reactivate a node; its workers learn it with their next heartbeat."""
    node.state = state
    record(session, "node.state", node.name, actor=by, course_id=None, state=state.value)


def workers(session: Session) -> Sequence[Worker]:
    """All workers that were ever heard of, with their nodes."""
    return queries.workers(session)


def claim(
    session: Session, settings: Settings, *, token: str, node: Node, worker: str, now: datetime | None = None
) -> Attempt:
    """A worker begins with the job of that token. Claiming again is harmless for the same worker.

    Raises `StaleAttempt` if the attempt is over or another worker has it: the message was a duplicate.
    """
    now = now or utc_now()
    submission, attempt = _locked(session, token)
    if attempt is None or submission is None or not attempt.state.is_open:
        raise StaleAttempt
    claimant, _ = _worker(session, node, worker, attempt.hardware, now)
    if attempt.state is AttemptState.PUBLISHED:
        attempt.state = next_attempt(attempt.state, AttemptEvent.CLAIM)
        attempt.started = now
        attempt.node = node.name
        attempt.worker = claimant
        attempt.deadline = _deadline(settings, submission, now)
        _move(session, submission, SubmissionEvent.START)
    elif attempt.worker is not claimant:
        raise StaleAttempt
    attempt.lease_until = min(now + timedelta(seconds=settings.lease_seconds), attempt.deadline)
    return attempt


def return_job(session: Session, *, token: str, node: Node, now: datetime | None = None) -> None:
    """A worker that must stop gives its job back: the submission is queued again, at no cost.

    Raises `StaleAttempt` if the node does not have that job.
    """
    now = now or utc_now()
    submission, attempt = _locked(session, token)
    if attempt is None or submission is None or attempt.state is not AttemptState.RUNNING:
        raise StaleAttempt
    if attempt.node != node.name:
        raise StaleAttempt
    _finish_attempt(attempt, AttemptEvent.RETURN, now)
    _move(session, submission, SubmissionEvent.RETURN)
    publish_after_commit(session, Job("dispatch"))


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
    token: str | None = None,
    now: datetime | None = None,
) -> Heartbeat:
    """A worker lives; the lease of the job it works on is renewed, never beyond the attempt's deadline.

    The answer says `cancelled` for a job that this worker must drop.
    """
    now = now or utc_now()
    found, new = _worker(session, node, worker, hardware, now)
    silent = now - found.last_heartbeat > timedelta(seconds=settings.worker_silent_seconds)
    if new or silent or found.state is not state or found.hardware != hardware:
        publish_after_commit(session, Job("dispatch"))
    node.last_heartbeat = found.last_heartbeat = now
    found.hardware, found.devices, found.state, found.versions = hardware, devices, state, versions
    if token is None:
        return Heartbeat(node.state, cancelled=False)
    _, attempt = _locked(session, token)
    if attempt is None or attempt.worker is not found or not attempt.state.is_open or attempt.deadline < now:
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


# Reports


def store_report(
    session: Session, settings: Settings, raw: bytes | str, *, now: datetime | None = None
) -> Stored:
    """Store a Report if its token is current, and all that follows from it, in this transaction.

    Idempotent. A Report of an attempt that is over is kept for audit and changes nothing. One that cannot be read
    ends its attempt as a failure of infrastructure. Never raises for what the Report says.
    """
    now = now or utc_now()
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "replace")
    fault = ""
    report: contract.Report | None = None
    try:
        report = contract.read(contract.Report, data)
    except contract.ContractError as error:
        fault = str(error)
    submission, attempt = _locked(session, report.token if report else _token_in(session, data))
    if attempt is None or submission is None:
        _log.warning("report refused", why=fault or "unknown token", bytes=len(data))
        return Stored("refused", None, None, fault or "unknown attempt token")
    if queries.report_of(session, attempt) is not None:
        return Stored("duplicate", submission.public_id, attempt.number)
    if report is not None:
        fault = _mismatch(report, attempt)
    row = _keep_report(session, attempt, data, report, fault, now)
    if not attempt.state.is_open:
        _log.info("report late", submission=submission.public_id, attempt=attempt.number, state=attempt.state)
        return Stored("late", submission.public_id, attempt.number)
    if report is None or fault:
        _log.error("report refused", submission=submission.public_id, attempt=attempt.number, why=fault)
        _finish_attempt(attempt, AttemptEvent.FAIL, now)
        _fail(session, settings, submission, Verdict.GRADER_ERROR, _UNREADABLE, now)
        return Stored("refused", submission.public_id, attempt.number, fault)
    _apply(session, settings, submission, attempt, row, report, now)
    return Stored("stored", submission.public_id, attempt.number)


def current_report(session: Session, submission: Submission) -> contract.Report | None:
    """The Report that counts, whole; None if there is none that can be read."""
    row = queries.current_report(session, submission)
    return contract.read(contract.Report, row.body) if row is not None and row.verdict is not None else None


def expected_seconds(session: Session, assignment_id: int, hardware: str, mode: Mode) -> float | None:
    """Device seconds that the last submissions of that kind took on average; None if there were none."""
    return queries.average_seconds(session, assignment_id, hardware, mode.value)


def attempts(session: Session, submission: Submission) -> Sequence[Attempt]:
    """All attempts of a submission, in order."""
    return queries.attempts(session, submission)


# People


def cancel(session: Session, submission: Submission, *, by: User, now: datetime | None = None) -> None:
    """Stop a submission that is not final; it costs nothing. Raises `WrongState`."""
    now = now or utc_now()
    submission = queries.lock_submission(session, submission.id)
    if submission.state.is_final:
        raise WrongState(action="cancel", state=submission.state.value)
    for attempt in queries.open_attempts(session, submission):
        _finish_attempt(attempt, AttemptEvent.CANCEL, now)
        publish_after_commit(
            session,
            Job(
                "cancel",
                {
                    "token": attempt.token,
                    "submission": submission.public_id,
                    "attempt": attempt.number,
                    "node": attempt.node,
                },
            ),
        )
    submission.cancel_requested = True
    submission.finished = now
    _move(session, submission, SubmissionEvent.CANCEL)
    record(session, "submission.cancel", submission.public_id, actor=by, course_id=submission.course_id)
    publish_after_commit(session, Job("dispatch"))


def rerun(
    session: Session, submission: Submission, *, by: User, reason: Reason, now: datetime | None = None
) -> None:
    """Queue a final submission again. What was found before counts until the new Report comes.

    Raises `WrongState`. Who may ask is the caller's question.
    """
    now = now or utc_now()
    submission = queries.lock_submission(session, submission.id)
    if not submission.state.is_final:
        raise WrongState(action="rerun", state=submission.state.value)
    _move(session, submission, SubmissionEvent.RERUN)
    submission.reason = reason
    submission.queued = now
    submission.finished = None
    submission.failed_attempts = 0
    submission.cancel_requested = False
    record(session, "submission.rerun", submission.public_id, actor=by, course_id=submission.course_id)
    publish_after_commit(session, Job("dispatch"))


# Parts of the above


_LOST = Text(
    code="worker_lost",
    en="The machine that graded this stopped answering. It cost you nothing; staff have been told.",
    zh="评测机器失去响应。本次不计入您的次数，已通知教学人员。",
)
_UNREADABLE = Text(
    code="report_unreadable",
    en="The result of the grading could not be read. It cost you nothing; staff have been told.",
    zh="无法读取评测结果。本次不计入您的次数，已通知教学人员。",
)
_COSTS = frozenset({FailureClass.NONE, FailureClass.STUDENT})


def _locked(session: Session, token: str) -> tuple[Submission | None, Attempt | None]:
    """The attempt of a token and its submission, locked and fresh."""
    found = queries.attempt_by_token(session, token) if token else None
    if found is None:
        return None, None
    submission = queries.lock_submission(session, found.submission_id)
    return submission, queries.refresh_attempt(session, found.id)


def _worker(session: Session, node: Node, name: str, hardware: str, now: datetime) -> tuple[Worker, bool]:
    """The worker of that name, and whether it is new."""
    found = queries.worker(session, node, name)
    if found is not None:
        return found, False
    found = Worker(node_id=node.id, name=name, hardware=hardware, last_heartbeat=now, versions={})
    session.add(found)
    session.flush()
    return found, True


def _live_workers(session: Session, settings: Settings, hardware: str, now: datetime) -> int:
    return queries.live_workers(session, hardware, now - timedelta(seconds=settings.worker_silent_seconds))


def _deadline(settings: Settings, submission: Submission, start: datetime) -> datetime:
    """When an attempt that starts at `start` is over, whatever its worker says."""
    target = target_of(manifest_of(submission.version), submission.hardware)
    wall = (target.limits.wall_seconds if target is not None else None) or 0.0
    return start + timedelta(seconds=max(settings.job_seconds, wall) + DEADLINE_SLACK)


def _publish(session: Session, attempt: Attempt) -> JobSpec:
    spec = job_spec(attempt)
    job = Job("run", {"spec": spec.model_dump_json(), "hardware": attempt.hardware})
    publish_after_commit(session, job)
    return spec


def _move(session: Session, submission: Submission, event: SubmissionEvent) -> None:
    submission.state = next_submission(submission.state, event)
    publish_after_commit(session, Job("changed", {"submission": submission.public_id}))


def _finish_attempt(attempt: Attempt, event: AttemptEvent, now: datetime, devices: int = 1) -> None:
    attempt.state = next_attempt(attempt.state, event)
    attempt.finished = now
    if attempt.started is not None:
        attempt.device_seconds = max(0.0, (now - attempt.started).total_seconds()) * devices


def _sweep_unclaimed(
    session: Session, settings: Settings, submission: Submission, attempt: Attempt, now: datetime
) -> Literal["republished", "requeued"] | None:
    alive = _live_workers(session, settings, attempt.hardware, now)
    if not alive:
        # Else messages would pile up for workers that may never come.
        _finish_attempt(attempt, AttemptEvent.EXPIRE, now)
        _move(session, submission, SubmissionEvent.RETURN)
        return "requeued"
    attempt.lease_until = now + timedelta(seconds=settings.pickup_seconds)
    busy = queries.count_attempts(session, attempt.hardware, Attempt.state == AttemptState.RUNNING)
    waited = (now - attempt.published).total_seconds()
    if busy >= alive and waited < settings.queue_seconds:
        return None  # Its turn has not come: the message waits behind the jobs that run.
    attempt.published = now
    attempt.deadline = _deadline(settings, submission, now + timedelta(seconds=settings.queue_seconds))
    _publish(session, attempt)
    return "republished"


def _fail(
    session: Session,
    settings: Settings,
    submission: Submission,
    verdict: Verdict,
    message: Text,
    now: datetime,
) -> Literal["requeued", "given_up"]:
    """An attempt failed for a reason that is not the student's: try again, or give up after `max_attempts`."""
    submission.failed_attempts += 1
    if submission.failed_attempts < settings.max_attempts:
        _move(session, submission, SubmissionEvent.RETURN)
        publish_after_commit(session, Job("dispatch"))
        return "requeued"
    _give_up(session, submission, verdict, message, now)
    return "given_up"


def _give_up(
    session: Session, submission: Submission, verdict: Verdict, message: Text, now: datetime
) -> None:
    """The end as a grader error: staff see it in the audit log, the student pays nothing."""
    _move(session, submission, SubmissionEvent.GIVE_UP)
    _conclude(submission, verdict, message, now)
    record(
        session, "submission.grader_error", submission.public_id, actor=None, course_id=submission.course_id,
        verdict=verdict.value, code=message.code,
    )  # fmt: skip
    publish_after_commit(session, Job("dispatch"))


def _conclude(submission: Submission, verdict: Verdict, message: Text, now: datetime) -> None:
    submission.verdict = verdict
    submission.failure_class = verdict.failure_class
    submission.message = {"code": message.code, "en": _clean(message.en), "zh": _clean(message.zh)}
    submission.finished = now


def _apply(
    session: Session,
    settings: Settings,
    submission: Submission,
    attempt: Attempt,
    row: Report,
    report: contract.Report,
    now: datetime,
) -> None:
    """A good Report of the current attempt takes effect."""
    device_seconds = report.seconds * submission.devices
    if report.failure_class is FailureClass.INFRASTRUCTURE:
        _finish_attempt(attempt, AttemptEvent.FAIL, now)
        attempt.device_seconds = device_seconds
        if _fail(session, settings, submission, report.verdict, report.message, now) == "given_up":
            _make_current(session, submission, row)
        return
    _finish_attempt(attempt, AttemptEvent.REPORT, now)
    attempt.device_seconds = device_seconds
    _make_current(session, submission, row)
    if report.failure_class is FailureClass.ASSIGNMENT:
        _give_up(session, submission, report.verdict, report.message, now)
        return
    _move(session, submission, SubmissionEvent.REPORT)
    _conclude(submission, report.verdict, report.message, now)
    submission.points = report.score.points if report.score else None
    submission.fraction = report.score.fraction if report.score else None
    if submission.reason is Reason.SUBMIT:
        costs = report.failure_class in _COSTS
        submission.charged_attempt = costs and submission.mode is Mode.GRADE
        submission.charged_seconds = device_seconds if costs else 0.0
    if report.failure_class is FailureClass.INTEGRITY:
        record(
            session, "submission.integrity", submission.public_id, actor=None, course_id=submission.course_id,
            verdict=report.verdict.value,
        )  # fmt: skip
    session.add_all(_case_results(submission, report))
    if report.score is not None and report.verdict is Verdict.ACCEPTED and report.mode is Mode.GRADE:
        session.add(_score(submission, attempt, report, report.score))
    publish_after_commit(session, Job("dispatch"))


def _make_current(session: Session, submission: Submission, row: Report) -> None:
    queries.retire_results(session, submission)
    row.current = True
    session.flush()


def _keep_report(
    session: Session, attempt: Attempt, data: bytes, report: contract.Report | None, fault: str, now: datetime
) -> Report:
    text = data.decode("utf-8", "replace")
    row = Report(
        course_id=attempt.course_id,
        team_id=attempt.team_id,
        submission_id=attempt.submission_id,
        attempt_id=attempt.id,
        current=False,
        verdict=report.verdict if report and not fault else None,
        fault=_clean(fault),
        body=text if report and not fault else _clean(text[:FAULTY_KEPT]),
        received=now,
    )
    session.add(row)
    session.flush()
    return row


def _mismatch(report: contract.Report, attempt: Attempt) -> str:
    """In what a Report differs from the job that its token belongs to; empty if in nothing."""
    submission = attempt.submission
    expected = {
        "submission": (submission.public_id, report.submission),
        "attempt": (attempt.number, report.attempt),
        "mode": (submission.mode, report.mode),
        "bundle": (submission.version.digest, report.bundle),
        "hardware": (submission.hardware, report.target.hardware),
    }
    return "; ".join(
        f"{key}: the job has {job}, the Report {found}"
        for key, (job, found) in expected.items()
        if job != found
    )


def _token_in(session: Session, data: bytes) -> str:
    """The first current token in a document that is no Report, so that its attempt need not wait for its lease."""
    for match in list(_TOKEN.finditer(data))[:10]:
        token = match.group(1).decode()
        if queries.attempt_by_token(session, token) is not None:
            return token
    return ""


def _case_results(submission: Submission, report: contract.Report) -> list[CaseResult]:
    def result(
        kind: str, case: str, part: str, verdict: Verdict | None, **values: float | None
    ) -> CaseResult:
        return CaseResult(
            course_id=submission.course_id, team_id=submission.team_id, assignment_id=submission.assignment_id,
            submission_id=submission.id, kind=kind, case=_clean(case), part=_clean(part), verdict=verdict, **values,
        )  # fmt: skip

    hidden = report.staff.hidden if report.staff else ()
    tests = [("public", test) for test in report.tests] + [("hidden", test) for test in hidden]
    results = [result(kind, test.case, test.part, test.verdict, seconds=test.seconds) for kind, test in tests]
    for timed in report.timed:
        in_seconds = timed.measure is not None and timed.measure.unit == "s"
        seconds = timed.measure.value if timed.measure is not None and in_seconds else None
        results.append(
            result("timed", timed.case, timed.part, timed.verdict, seconds=seconds, fraction=timed.fraction)
        )
    return results


def _score(submission: Submission, attempt: Attempt, report: contract.Report, score: contract.Score) -> Score:
    environment = report.environment
    return Score(
        course_id=submission.course_id,
        team_id=submission.team_id,
        assignment_id=submission.assignment_id,
        submission_id=submission.id,
        attempt_id=attempt.id,
        current=True,
        fraction=score.fraction,
        low=score.low,
        high=score.high,
        points=score.points,
        ranked=score.ranked,
        bundle_digest=report.bundle,
        judge_version=_clean(environment.judge_version),
        hardware=submission.hardware,
        devices=submission.devices,
        hardware_name=_clean(environment.hardware_name),
        hardware_digest=environment.hardware_digest,
    )


def _clean(text: str) -> str:
    """PostgreSQL stores no NUL in text."""
    return text.replace("\0", "\ufffd")
