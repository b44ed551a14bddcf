"""Handing in: rules, numbers, quotas, and who may see what."""

import math
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from grader import contract
from grader.contract import Language, Mode, Reason
from grader.manifest import Manifest
from grader.spec import TargetSpec
from grader.transcript import Transcript, TranscriptError, unpack
from server.blobs import BlobStore, MissingBlobError, keep
from server.courses import service as courses
from server.courses.bundles import target_of
from server.db.base import utc_now
from server.db.models import Assignment, Course, Score, Submission, SubmissionFile, Team, User
from server.db.session import Job, publish_after_commit
from server.errors import (
    Forbidden,
    Invalid,
    NoAttemptsLeft,
    NoDeviceTimeLeft,
    NotFound,
    TooManyQueued,
    Unavailable,
    WrongState,
)
from server.grading import service as grading
from server.grading.states import SubmissionState
from server.settings import Settings
from server.submissions import files as rules
from server.submissions import queries

DEFAULT_SECONDS = 60.0
"""Expected device seconds of a submission while nothing like it has been graded."""
SHOWN_SECONDS = 10.0
"""Step in which used device time is shown, though charged in full: it would tell what hidden tests took."""


@dataclass(frozen=True)
class Quota:
    """What a team and a student may still use; a limit of None is no limit."""

    attempts_used: int
    attempt_limit: int | None
    seconds_used: float
    """The student's of today in the whole course. Rounded up to `SHOWN_SECONDS`."""
    seconds_limit: float | None
    resets: datetime
    """When the seconds begin anew: midnight in the course's time zone."""


def create(
    session: Session,
    blobs: BlobStore,
    settings: Settings,
    *,
    user: User,
    course: Course,
    name: str,
    files: Mapping[str, bytes],
    mode: Mode = Mode.GRADE,
    language: Language | None = None,
    hardware: str | None = None,
    now: datetime | None = None,
) -> Submission:
    """Take a submission: once this transaction is committed, nothing can lose it.

    Raises what the rules say: `NotFound`, `NotOpen`, `Closed`, `FilesTooLarge`, `FilesRefused`, `Invalid`,
    `TooManyQueued`, `NoAttemptsLeft`, `NoDeviceTimeLeft`. Dates and quotas do not bind staff.
    """
    now = now or utc_now()
    role = courses.role_of(session, course, user)
    team = courses.team_of(session, course, user)
    if role is None or team is None:
        raise Forbidden(needs=f"member of the course {course.slug}", needs_zh=f"课程 {course.slug} 的成员")
    view = courses.get_assignment(session, course, name, staff=role.is_staff, now=now)
    version = courses.require_open(view, staff=role.is_staff)
    if mode not in contract.OFFERED_MODES:
        raise Invalid(
            field="mode",
            why=f"`{mode.value}` is not offered yet; use `test` or `grade`",
            why_zh=f"尚不提供 `{mode.value}`，请使用 `test` 或 `grade`",
        )
    manifest = view.manifest
    files = rules.unpack(files)
    found, entry = rules.check(files, language, manifest.parts[0].entry)
    target = _target(manifest, found, hardware)
    queries.lock_team(session, team)
    expected = grading.expected_seconds(session, view.assignment.id, target.hardware, mode) or DEFAULT_SECONDS
    if not role.is_staff:
        _require_quota(session, settings, view.assignment, course, team, user, mode, expected, now)
    submission = Submission(
        public_id=secrets.token_hex(8),
        course=course,
        team=team,
        user=user,
        assignment=view.assignment,
        version=version,
        number=queries.last_number(session, team, view.assignment) + 1,
        mode=mode,
        reason=Reason.SUBMIT,
        language=found.value,
        language_given=language is not None,
        entry=entry,
        hardware=target.hardware,
        devices=target.devices,
        content_digest=rules.content_digest(files, found),
        state=SubmissionState.QUEUED,
        created=now,
        queued=now,
        expected_seconds=expected,
    )
    submission.files = [
        SubmissionFile(name=file, sha256=keep(session, blobs, content), size=len(content))
        for file, content in sorted(files.items())
    ]
    session.add(submission)
    session.flush()
    grading.supersede(session, submission, by=user, now=now)
    publish_after_commit(session, Job("dispatch"))
    return submission


def get(session: Session, public_id: str, user: User) -> Submission:
    """A submission of the user's team, or of a course whose staff the user is; raises `NotFound`."""
    submission = queries.by_public_id(session, public_id)
    if submission is None:
        raise NotFound(what="submission")
    if not queries.in_team(session, submission.team_id, user) and not viewer_is_staff(
        session, submission, user
    ):
        raise NotFound(what="submission")
    return submission


def viewer_is_staff(session: Session, submission: Submission, user: User) -> bool:
    """Whether the user may see what only staff may."""
    role = courses.role_of(session, submission.course, user)
    return role is not None and role.is_staff


def listing(
    session: Session,
    *,
    course: Course,
    user: User,
    name: str | None = None,
    everyone: bool = False,
    team_name: str | None = None,
    limit: int = 50,
    before: int | None = None,
) -> Sequence[Submission]:
    """Submissions of the user's team, newest first, of ids below `before`.

    Staff may ask for those of all teams (`everyone`), and of those for one team by its name.
    """
    role = courses.role_of(session, course, user)
    if role is None or (everyone and not role.is_staff):
        raise Forbidden(needs=f"staff of the course {course.slug}", needs_zh=f"课程 {course.slug} 的教学人员")
    team = None
    if not everyone or team_name is not None:
        team = (
            courses.team_named(session, course, team_name or "")
            if everyone
            else courses.team_of(session, course, user)
        )
        if team is None:
            return []
    view = None if name is None else courses.get_assignment(session, course, name, staff=role.is_staff)
    return queries.listing(
        session, course, team=team, assignment=view.assignment if view else None, before=before, limit=limit
    )


def best_of_team(session: Session, team: Team) -> dict[int, Submission]:
    """The team's best graded submission of each assignment, by the assignment's id."""
    return {found.assignment_id: found for found in queries.best_of_team(session, team)}


def unfinished(session: Session, user: User, *, limit: int = 200) -> Sequence[Submission]:
    """What is not final yet in the courses whose staff the user is, longest waiting first.

    Raises `Forbidden` for who is staff nowhere.
    """
    staffed = [course for course, role in courses.courses_of(session, user) if role.is_staff]
    if not staffed:
        raise Forbidden(needs="staff of a course", needs_zh="某门课程的教学人员")
    return queries.unfinished_of_courses(session, staffed, limit)


def file(blobs: BlobStore, submission: Submission, name: str) -> bytes:
    """The content of one file of the submission; raises `NotFound`."""
    for row in submission.files:
        if row.name == name:
            try:
                return blobs.read(row.sha256)
            except MissingBlobError:
                raise Unavailable(what=f"content of {name}") from None
    raise NotFound(what="file")


def report(session: Session, submission: Submission, *, staff: bool) -> contract.Report | None:
    """The Report that counts; without what only staff may see unless `staff`. None: there is none yet."""
    found = grading.current_report(session, submission)
    return found if found is None or staff else found.for_student()


def transcript(session: Session, submission: Submission, case: str, *, staff: bool) -> Transcript:
    """What was said in a case that left a transcript; raises `NotFound`."""
    found = report(session, submission, staff=staff) if submission.state.is_final else None
    results: list[contract.TestResult | contract.TimedResult] = [*found.tests, *found.timed] if found else []
    for result in results:
        if result.case == case and result.transcript:
            with suppress(TranscriptError):
                return unpack(
                    result.transcript,
                    case=case,
                    part=result.part,
                    params=result.params,
                    assignment=submission.assignment.name,
                )
    raise NotFound(what="transcript")


def review(session: Session, submission: Submission, *, rank: bool, note: str, by: User) -> Score:
    """Rank a result that waits for staff, or leave it unranked (staff). Raises `Forbidden`, `WrongState`."""
    if not viewer_is_staff(session, submission, by):
        raise Forbidden(
            needs=f"staff of the course {submission.course.slug}",
            needs_zh=f"课程 {submission.course.slug} 的教学人员",
        )
    return grading.decide_review(session, submission, rank=rank, note=note, by=by)


def cancel(session: Session, submission: Submission, *, by: User, now: datetime | None = None) -> None:
    """Stop an unfinished submission at no cost; a rejudge is stopped by staff only. Raises `WrongState`."""
    if submission.reason is Reason.REJUDGE and not viewer_is_staff(session, submission, by):
        raise Forbidden(
            needs=f"staff of the course {submission.course.slug}",
            needs_zh=f"课程 {submission.course.slug} 的教学人员",
        )
    grading.cancel(session, submission, by=by, now=now)


def rerun(
    session: Session, settings: Settings, submission: Submission, *, by: User, now: datetime | None = None
) -> None:
    """Queue a final submission again.

    Its author may do so after a grader error or a cancellation, within the quotas; staff at any time, which
    costs the student nothing. Raises `WrongState`, `Forbidden` or what quotas raise.
    """
    now = now or utc_now()
    if not submission.state.is_final:
        raise WrongState(action="rerun", state=submission.state.value)
    if viewer_is_staff(session, submission, by):
        grading.rerun(session, submission, by=by, reason=Reason.REJUDGE, now=now)
        return
    if submission.state is SubmissionState.DONE:
        raise Forbidden(
            needs=f"staff of the course {submission.course.slug}",
            needs_zh=f"课程 {submission.course.slug} 的教学人员",
        )
    queries.lock_team(session, submission.team)
    _require_quota(
        session, settings, submission.assignment, submission.course, submission.team, submission.user,
        submission.mode, submission.expected_seconds, now,
    )  # fmt: skip
    grading.rerun(session, submission, by=by, reason=Reason.SUBMIT, now=now)


def quota(
    session: Session,
    settings: Settings,
    *,
    assignment: Assignment,
    course: Course,
    team: Team,
    user: User,
    now: datetime | None = None,
) -> Quota:
    """What was used, counting what is under way, and the limits. Infrastructure failures are not in it."""
    start, resets = _day(course, now or utc_now())
    seconds_used = queries.seconds_used(session, user, course, start)
    return Quota(
        attempts_used=queries.attempts_used(session, team, assignment),
        attempt_limit=assignment.attempt_limit or settings.attempt_limit,
        seconds_used=SHOWN_SECONDS * math.ceil(seconds_used / SHOWN_SECONDS),
        seconds_limit=assignment.device_seconds_per_day or settings.device_seconds_per_day,
        resets=resets,
    )


def _require_quota(
    session: Session,
    settings: Settings,
    assignment: Assignment,
    course: Course,
    team: Team,
    user: User,
    mode: Mode,
    expected: float,
    now: datetime,
) -> None:
    """Under the team's lock: room for one more submission, or the error that says what is used up."""
    if queries.unfinished(session, team, assignment) >= settings.queued_per_team:
        raise TooManyQueued(limit=settings.queued_per_team)
    found = quota(session, settings, assignment=assignment, course=course, team=team, user=user, now=now)
    if mode is Mode.GRADE and found.attempt_limit is not None and found.attempts_used >= found.attempt_limit:
        raise NoAttemptsLeft(used=found.attempts_used, limit=found.attempt_limit)
    seconds_used = queries.seconds_used(session, user, course, _day(course, now)[0])
    if found.seconds_limit is not None and seconds_used > max(0.0, found.seconds_limit - expected):
        raise NoDeviceTimeLeft(
            used=found.seconds_used,
            limit=found.seconds_limit,
            expected=SHOWN_SECONDS * math.ceil(expected / SHOWN_SECONDS),
            resets=found.resets.isoformat(),
        )


def _day(course: Course, now: datetime) -> tuple[datetime, datetime]:
    """The midnights before and after `now` in the course's time zone."""
    local = now.astimezone(ZoneInfo(course.timezone))
    start = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return start, (start + timedelta(days=1))


def _target(manifest: Manifest, language: Language, hardware: str | None) -> TargetSpec:
    """The target asked for, else the primary one if it takes the language, else the first that does."""
    taking = [
        target
        for target in manifest.targets
        if language in (target.languages or manifest.languages) and language in manifest.languages
    ]
    if hardware is not None:
        asked = target_of(manifest, hardware)
        if asked is None:
            names = ", ".join(target.hardware for target in manifest.targets)
            raise Invalid(field="hardware", why=f"one of {names}", why_zh=f"须为 {names} 之一")
        taking = [target for target in taking if target is asked]
    if not taking:
        names = ", ".join(manifest.languages)
        raise Invalid(
            field="language",
            why=f"{language.value} is not taken here; this assignment takes {names}",
            why_zh=f"此处不接受 {language.value}，该作业接受 {names}",
        )
    return next((target for target in taking if target.primary), taking[0])
