"""The doors of grading: queue, workers, Reports, and what people may do to a submission.

Each part has a module of its own; callers outside this package import this one only.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from grader.contract import Mode, Reason, Text
from server.db.audit import record
from server.db.base import utc_now
from server.db.models import Assignment, Attempt, Course, Submission, User
from server.db.session import Job, publish_after_commit
from server.errors import WrongState
from server.grading import queries, queue_queries
from server.grading.lifecycle import cancel_job, finish_attempt, move
from server.grading.quarantine import lift
from server.grading.queue import (
    Place,
    Sweep,
    dispatch,
    expected_seconds,
    job_spec,
    open_attempt,
    place,
    sweep,
)
from server.grading.reports import Stored, current_report, store_report
from server.grading.review import decide as decide_review
from server.grading.review import of as review_of
from server.grading.review import waiting as waiting_reviews
from server.grading.states import AttemptEvent, SubmissionEvent, SubmissionState, next_submission
from server.grading.workers import (
    Heartbeat,
    claim,
    claimed_attempt,
    heartbeat,
    job_blob,
    jobs_of_workers,
    node,
    node_by_token,
    nodes,
    register_node,
    return_job,
    set_node_state,
    store_log,
    workers,
)

__all__ = [
    "Heartbeat",
    "Place",
    "Stored",
    "Sweep",
    "attempts",
    "cancel",
    "claim",
    "claimed_attempt",
    "current_report",
    "decide_review",
    "dispatch",
    "expected_seconds",
    "heartbeat",
    "job_blob",
    "job_spec",
    "jobs_of_workers",
    "lift",
    "node",
    "node_by_token",
    "nodes",
    "open_attempt",
    "place",
    "quarantined_assignments",
    "register_node",
    "rejudge",
    "rerun",
    "return_job",
    "review_of",
    "set_node_state",
    "store_log",
    "store_report",
    "supersede",
    "sweep",
    "waiting_reviews",
    "workers",
]
_SUPERSEDED = Text(
    code="superseded",
    en="A newer test run of your team took its place before it began. It cost you nothing.",
    zh="您的团队有更新的测试运行，本次在开始前已被取代。不计入次数。",
)
_RESULTS = frozenset({SubmissionState.DONE, SubmissionState.GRADER_ERROR})
"""What a rejudge of a whole assignment grades again: what somebody cancelled stays cancelled."""


def attempts(session: Session, submission: Submission) -> Sequence[Attempt]:
    """All attempts of a submission, in order."""
    return queries.attempts(session, submission)


def cancel(session: Session, submission: Submission, *, by: User, now: datetime | None = None) -> None:
    """Stop a submission that is not final; it costs nothing. Raises `WrongState`."""
    now = now or utc_now()
    submission = queries.lock_submission(session, submission.id)
    if submission.state.is_final:
        raise WrongState(action="cancel", state=submission.state.value)
    for attempt in queries.open_attempts(session, submission):
        finish_attempt(session, attempt, AttemptEvent.CANCEL, now)
        publish_after_commit(session, cancel_job(attempt))
    submission.cancel_requested = True
    submission.finished = now
    move(session, submission, SubmissionEvent.CANCEL)
    record(session, "submission.cancel", submission.public_id, actor=by, course_id=submission.course_id)
    publish_after_commit(session, Job("dispatch"))


def rerun(
    session: Session, submission: Submission, *, by: User, reason: Reason, now: datetime | None = None
) -> None:
    """Queue a final submission again. What was found before counts until the new Report comes.

    Raises `WrongState`; for `Reason.SUBMIT` also where there is a result. Else, who may ask is the caller's
    question.
    """
    now = now or utc_now()
    submission = queries.lock_submission(session, submission.id)
    has_result = submission.state is SubmissionState.DONE
    if not submission.state.is_final or (has_result and reason is Reason.SUBMIT):
        raise WrongState(action="rerun", state=submission.state.value)
    move(session, submission, SubmissionEvent.RERUN)
    submission.reason = reason
    submission.queued = now
    submission.finished = None
    submission.failed_attempts = 0
    submission.cancel_requested = False
    record(session, "submission.rerun", submission.public_id, actor=by, course_id=submission.course_id)
    publish_after_commit(session, Job("dispatch"))


def supersede(session: Session, submission: Submission, *, by: User, now: datetime | None = None) -> int:
    """Let a new `test` run stand in for older ones of its team that still wait; how many there were.

    It takes the place in the queue of the one that has waited longest. Call it under the team's lock.
    """
    now = now or utc_now()
    if submission.mode is not Mode.TEST:
        return 0
    older = queue_queries.older_tests(session, submission)
    for found in older:
        submission.queued = min(submission.queued, found.queued)
        move(session, found, SubmissionEvent.SUPERSEDE)
        found.finished = now
        found.message = {"code": _SUPERSEDED.code, "en": _SUPERSEDED.en, "zh": _SUPERSEDED.zh}
        record(
            session, "submission.superseded", found.public_id, actor=by, course_id=found.course_id,
            by=submission.public_id,
        )  # fmt: skip
    return len(older)


def rejudge(
    session: Session,
    assignment: Assignment,
    *,
    by: User,
    errors_only: bool = False,
    mode: Mode | None = None,
    now: datetime | None = None,
) -> int:
    """Queue all graded submissions of an assignment again, behind everybody's own; how many they are.

    `errors_only`: those that failed through no fault of their authors. What was found before counts until the
    new Report.
    """
    states = frozenset({SubmissionState.GRADER_ERROR}) if errors_only else _RESULTS
    (queued,) = {next_submission(state, SubmissionEvent.RERUN) for state in states}
    found = queries.queue_again(session, assignment, states, queued, mode, now or utc_now())
    for public_id in found:
        publish_after_commit(session, Job("changed", {"submission": public_id}))
    record(
        session, "assignment.rejudge", assignment.name, actor=by, course_id=assignment.course_id,
        submissions=len(found), errors_only=errors_only,
    )  # fmt: skip
    publish_after_commit(session, Job("dispatch"))
    return len(found)


def quarantined_assignments(session: Session, courses: Sequence[Course]) -> Sequence[Assignment]:
    """Assignments of these courses of which nothing is graded, because grading them fails again and again."""
    return queries.quarantined_assignments(session, [course.id for course in courses])
