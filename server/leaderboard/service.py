"""Boards: one for each assignment, dataset version and target."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from grader import scoring
from server import sheet
from server.courses import service as courses
from server.courses.bundles import manifest_of, target_of
from server.db.models import Assignment, AssignmentVersion, Course, User
from server.errors import NotFound, NotLoggedIn
from server.leaderboard import queries


@dataclass(frozen=True)
class Entry:
    """One team's best: fractions of the speed of light, and the rank that it shares within 1 %."""

    rank: int
    team: str
    fraction: float
    low: float
    high: float
    points: float | None
    hardware: str
    hardware_name: str
    hardware_digest: str | None
    judge_version: str
    language: str
    submitted: datetime
    submission: str
    """Public id; whoever is not of the team or staff cannot open it."""


@dataclass(frozen=True)
class Board:
    """The entries of one board, best first, and what they may be compared with: nothing but each other."""

    assignment: Assignment
    version: AssignmentVersion
    hardware: str
    devices: int
    targets: Sequence[tuple[str, int]]
    """Hardware classes and devices of the boards of this version."""
    entries: Sequence[Entry]


def as_csv(board: Board) -> str:
    """One line an entry, best first, as the API names its fields."""
    lines: list[Sequence[object]] = [
        (
            "rank",
            "name",
            "fraction",
            "low",
            "high",
            "points",
            "hardware",
            "hardware_name",
            "language",
            "submitted",
        )
    ]
    lines += [
        (
            entry.rank, entry.team, entry.fraction, entry.low, entry.high, entry.points, entry.hardware,
            entry.hardware_name, entry.language, entry.submitted.isoformat(),
        )
        for entry in board.entries
    ]  # fmt: skip
    return sheet.write(lines)


def may_see(session: Session, course: Course, user: User | None) -> bool:
    """Members see the boards of their course; everybody does where the course says so."""
    return course.public_boards or (user is not None and courses.role_of(session, course, user) is not None)


def visible_course(session: Session, slug: str, user: User | None) -> Course:
    """The course, if its boards are public or the user is a member.

    Raises `NotFound`; for whoever is not logged in `NotLoggedIn`, whether the course exists or not.
    """
    try:
        course = courses.get_course(session, slug)
        if may_see(session, course, user):
            return course
    except NotFound:
        if user is not None:
            raise
    if user is None:
        raise NotLoggedIn
    raise NotFound(what="course")


def board(
    session: Session,
    course: Course,
    name: str,
    *,
    digest: str | None = None,
    hardware: str | None = None,
) -> Board:
    """The board of an assignment: of the current version and the primary target if no other is named.

    Raises `NotFound` for an assignment, version or target that does not exist or is not published.
    """
    view = courses.get_assignment(session, course, name, staff=False)
    version = courses.get_version(session, view.assignment, digest) if digest else view.version
    if version is None:
        raise NotFound(what="board")
    manifest = manifest_of(version)
    target = manifest.primary if hardware is None else target_of(manifest, hardware)
    if target is None:
        raise NotFound(what="board")
    best = queries.best_scores(session, view.assignment, version.digest, target.hardware, target.devices)
    lows = [entry.score.low or 0.0 for entry in best]
    entries = [
        Entry(
            rank=rank,
            team=entry.team.name,
            fraction=entry.score.fraction or 0.0,
            low=low,
            high=entry.score.high or entry.score.fraction or 0.0,
            points=entry.score.points,
            hardware=entry.score.hardware,
            hardware_name=entry.score.hardware_name,
            hardware_digest=entry.score.hardware_digest,
            judge_version=entry.score.judge_version,
            language=entry.submission.language,
            submitted=entry.submission.created,
            submission=entry.submission.public_id,
        )
        for entry, low, rank in zip(best, lows, scoring.ranks(lows), strict=True)
    ]
    targets = [(target.hardware, target.devices) for target in manifest.targets]
    return Board(view.assignment, version, target.hardware, target.devices, targets, entries)
