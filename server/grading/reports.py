"""Reports: stored once, applied if their attempt is still the current one, kept for audit in any case."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import structlog
from sqlalchemy.orm import Session

from grader import contract
from grader.contract import FailureClass, Mode, Reason, Text, Verdict
from server.db.audit import record
from server.db.base import utc_now
from server.db.models import Attempt, CaseResult, Report, Score, Submission
from server.db.models.report import Review
from server.db.session import Job, publish_after_commit
from server.grading import queries, review
from server.grading.lifecycle import clean, conclude, fail, finish_attempt, give_up, lock_by_token, move
from server.grading.states import AttemptEvent, SubmissionEvent
from server.settings import Settings

FAULTY_KEPT = 65536
"""Characters kept of a Report that cannot be read."""
_TOKEN = re.compile(rb'"token"\s*:\s*"([A-Za-z0-9_-]{16,128})"')
_UNREADABLE = Text(
    code="report_unreadable",
    en="The result of the grading could not be read. It cost you nothing; staff have been told.",
    zh="无法读取评测结果。本次不计入您的次数，已通知教学人员。",
)
_COSTS = frozenset({FailureClass.NONE, FailureClass.STUDENT})
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Stored:
    """What became of a Report. For each of these outcomes the worker may forget it."""

    outcome: Literal["stored", "duplicate", "late", "refused"]
    submission: str | None
    attempt: int | None
    text: str = ""


def store_report(
    session: Session, settings: Settings, raw: bytes | str, *, now: datetime | None = None
) -> Stored:
    """Store a Report if its token is current, and all that follows from it, in this transaction.

    Idempotent. A Report of an attempt that is over is kept for audit and changes nothing. One that cannot be
    read ends its attempt as a failure of infrastructure. Never raises for what the Report says.
    """
    now = now or utc_now()
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "replace")
    fault = ""
    report: contract.Report | None = None
    try:
        report = contract.read(contract.Report, data)
    except contract.ContractError as error:
        fault = str(error)
    submission, attempt = lock_by_token(session, report.token if report else _token_in(session, data))
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
        finish_attempt(session, attempt, AttemptEvent.FAIL, now, verdict=Verdict.GRADER_ERROR)
        fail(session, settings, submission, Verdict.GRADER_ERROR, _UNREADABLE, now)
        return Stored("refused", submission.public_id, attempt.number, fault)
    _apply(session, settings, submission, attempt, row, report, now)
    return Stored("stored", submission.public_id, attempt.number)


def current_report(session: Session, submission: Submission) -> contract.Report | None:
    """The Report that counts, whole, with what staff decided; None if there is none that can be read."""
    row = queries.current_report(session, submission)
    if row is None or row.verdict is None:
        return None
    report = contract.read(contract.Report, row.body)
    return review.applied(report, review.of(session, submission))


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
    # What it says that it took is charged; it cannot have taken longer than its attempt was given.
    given = (attempt.deadline - (attempt.started or attempt.opened)).total_seconds()
    seconds = min(report.seconds, max(0.0, given))
    if report.failure_class is FailureClass.INFRASTRUCTURE:
        finish_attempt(session, attempt, AttemptEvent.FAIL, now, seconds=seconds, verdict=report.verdict)
        if fail(session, settings, submission, report.verdict, report.message, now) == "given_up":
            _show(session, submission, row)
        return
    finish_attempt(session, attempt, AttemptEvent.REPORT, now, seconds=seconds, verdict=report.verdict)
    _show(session, submission, row)
    if report.failure_class is FailureClass.ASSIGNMENT:
        give_up(session, submission, report.verdict, report.message, now)
        return
    queries.retire_results(session, submission)
    move(session, submission, SubmissionEvent.REPORT)
    conclude(submission, report.verdict, report.message, now)
    submission.points = report.score.points if report.score else None
    submission.fraction = report.score.fraction if report.score else None
    if submission.reason is Reason.SUBMIT:
        costs = report.failure_class in _COSTS
        submission.charged_attempt = costs and submission.mode is Mode.GRADE
        submission.charged_seconds = attempt.device_seconds if costs else 0.0
    if report.failure_class is FailureClass.INTEGRITY:
        record(
            session, "submission.integrity", submission.public_id, actor=None, course_id=submission.course_id,
            verdict=report.verdict.value,
        )  # fmt: skip
    session.add_all(_case_results(submission, report))
    if report.score is not None and report.verdict is Verdict.ACCEPTED and report.mode is Mode.GRADE:
        session.add(_score(submission, attempt, report, report.score))
    publish_after_commit(session, Job("dispatch"))


def _show(session: Session, submission: Submission, row: Report) -> None:
    """Make it the Report that people see. A score from before goes only where it is about the work."""
    queries.retire_report(session, submission)
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
        fault=clean(fault),
        body=text if report and not fault else clean(text[:FAULTY_KEPT]),
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
    """The first known token in what is no Report, so that its attempt need not wait for its lease."""
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
            course_id=submission.course_id,
            team_id=submission.team_id,
            assignment_id=submission.assignment_id,
            submission_id=submission.id,
            kind=kind,
            case=clean(case),
            part=clean(part),
            verdict=verdict,
            **values,
        )

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
        review=Review.WAITING if score.review and not score.ranked else None,
        bundle_digest=report.bundle,
        judge_version=clean(environment.judge_version),
        hardware=submission.hardware,
        devices=submission.devices,
        hardware_name=clean(environment.hardware_name),
        hardware_digest=environment.hardware_digest,
    )
