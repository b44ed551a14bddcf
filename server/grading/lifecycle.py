"""Changes of state, and all that goes with each: who is told, what is written down, what it costs.

The submission's row is the lock for everything about it: whoever changes an attempt locks it first.
"""

from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy.orm import Session

from grader.contract import Reason, Text, Verdict
from server.courses.bundles import manifest_of, target_of
from server.db.audit import record
from server.db.models import Attempt, Submission
from server.db.session import Job, publish_after_commit
from server.grading import fairness, queries
from server.grading.states import AttemptEvent, SubmissionEvent, next_attempt, next_submission
from server.settings import Settings

DEADLINE_SLACK = 60.0
"""Seconds that an attempt may take beyond its limit: fetching, starting, sending the Report."""
_CAUSE_CHARS = 2000
_OWN_DOING = frozenset({AttemptEvent.REPORT, AttemptEvent.CANCEL})


def lock_by_token(session: Session, token: str) -> tuple[Submission | None, Attempt | None]:
    """The attempt of a token and its submission, locked and fresh."""
    found = queries.attempt_by_token(session, token) if token else None
    if found is None:
        return None, None
    submission = queries.lock_submission(session, found.submission_id)
    return submission, queries.refresh_attempt(session, found.id)


def move(session: Session, submission: Submission, event: SubmissionEvent) -> None:
    """The submission's next state; whoever follows it is told after the commit."""
    submission.state = next_submission(submission.state, event)
    publish_after_commit(session, Job("changed", {"submission": submission.public_id}))


def finish_attempt(
    session: Session,
    attempt: Attempt,
    event: AttemptEvent,
    now: datetime,
    *,
    seconds: float | None = None,
    verdict: Verdict | None = None,
) -> None:
    """End an attempt. `seconds` is what its Report says that it took; else its time since the claim counts.

    What students caused themselves counts as their recent use: neither failures of ours nor rejudges do. Of
    times that scatter nobody can tell whose doing they were. They cost no attempt, yet who provokes them must
    not be first in the queue for ever: they count.
    """
    attempt.state = next_attempt(attempt.state, event)
    attempt.finished = now
    attempt.verdict = verdict
    submission = attempt.submission
    if seconds is None:
        seconds = max(0.0, (now - attempt.started).total_seconds()) if attempt.started is not None else 0.0
    attempt.device_seconds = seconds * submission.devices
    own_doing = event in _OWN_DOING or verdict is Verdict.UNSTABLE_TIMING
    if own_doing and attempt.reason is Reason.SUBMIT and attempt.device_seconds > 0:
        usage = queries.usage_for_update(session, submission.user_id, now)
        usage.weight = fairness.add(usage.weight, attempt.device_seconds, now)
        usage.served = now


def cancel_job(attempt: Attempt) -> Job:
    """What tells the worker of an attempt, as soon as it listens, that the attempt is over."""
    return Job(
        "cancel",
        {
            "token": attempt.token,
            "submission": attempt.submission.public_id,
            "attempt": attempt.number,
            "node": attempt.node,
        },
    )


def deadline(settings: Settings, submission: Submission, start: datetime) -> datetime:
    """When an attempt that starts at `start` is over, whatever its worker says."""
    target = target_of(manifest_of(submission.version), submission.hardware)
    wall = (target.limits.wall_seconds if target is not None else None) or 0.0
    return start + timedelta(seconds=max(settings.job_seconds, wall) + DEADLINE_SLACK)


def fail(
    session: Session,
    settings: Settings,
    submission: Submission,
    verdict: Verdict,
    message: Text,
    now: datetime,
) -> Literal["requeued", "given_up"]:
    """An attempt failed through no fault of the student: try again, or give up after `max_attempts`."""
    submission.failed_attempts += 1
    if submission.failed_attempts < settings.max_attempts:
        move(session, submission, SubmissionEvent.RETURN)
        publish_after_commit(session, Job("dispatch"))
        return "requeued"
    give_up(session, submission, verdict, message, now)
    return "given_up"


def give_up(
    session: Session,
    submission: Submission,
    verdict: Verdict,
    message: Text,
    now: datetime,
    *,
    cause: str = "",
) -> None:
    """The end as a grader error: staff see it (and its cause) in the audit log, the student pays nothing."""
    move(session, submission, SubmissionEvent.GIVE_UP)
    conclude(submission, verdict, message, now)
    record(
        session, "submission.grader_error", submission.public_id, actor=None, course_id=submission.course_id,
        verdict=verdict.value, code=message.code, **({"cause": clean(cause[:_CAUSE_CHARS])} if cause else {}),
    )  # fmt: skip
    publish_after_commit(session, Job("dispatch"))


def conclude(submission: Submission, verdict: Verdict, message: Text, now: datetime) -> None:
    """Write down how grading ended."""
    submission.verdict = verdict
    submission.failure_class = verdict.failure_class
    submission.message = {"code": message.code, "en": clean(message.en), "zh": clean(message.zh)}
    submission.finished = now


def clean(text: str) -> str:
    """PostgreSQL stores no NUL in text."""
    return text.replace("\0", "\ufffd")
