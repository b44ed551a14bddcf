"""What a rejudge leaves alone: points, ranks and quotas of students, until it has found something else."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from grader.contract import Verdict
from server.courses import service as courses
from server.db.models import Assignment, Score
from server.db.session import Database
from server.errors import NoAttemptsLeft, NoDeviceTimeLeft, TooManyQueued
from server.gradebook import service as gradebook
from server.grading import service
from server.submissions import service as submissions

Submit = Callable[..., str]


def _rejudge(database: Database, grader: Any) -> None:
    with database.begin() as session:
        assignment = session.scalars(select(Assignment)).one()
        service.rejudge(session, assignment, by=grader.world.ta, now=grader.now)


def _limit(database: Database, **values: Any) -> None:
    with database.begin() as session:
        assignment = session.scalars(select(Assignment)).one()
        for key, value in values.items():
            setattr(assignment, key, value)


def _points(database: Database, grader: Any) -> tuple[float | None, float | None, int]:
    """Ann's in the gradebook, on her own pages, and how many scores are on the board."""
    with database.read() as session:
        book = gradebook.gradebook(session, courses.get_course(session, "demo"))
        (row,) = (row for row in book.rows if row.user.login == "ann")
        team = courses.team_of(session, courses.get_course(session, "demo"), grader.world.ann)
        assert team is not None
        own = list(submissions.best_of_team(session, team).values())
        scores = session.scalar(select(func.count()).select_from(Score).where(Score.current)) or 0
    found = list(row.best.values())
    return found[0].points if found else None, own[0].points if own else None, scores


def test_points_stay_while_a_rejudge_waits_and_when_it_is_cancelled(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.grade()
    assert _points(database, grader) == (70.0, 70.0, 1)
    _rejudge(database, grader)
    assert _points(database, grader) == (70.0, 70.0, 1)
    with database.begin() as session:
        found = submissions.get(session, public_id, grader.world.ta)
        submissions.cancel(session, found, by=grader.world.ta, now=grader.now)
    assert _points(database, grader) == (70.0, 70.0, 1)


@pytest.mark.parametrize(
    ("verdict", "times"),
    [(Verdict.GRADER_ERROR, 3), (Verdict.UNSTABLE_TIMING, 3), (Verdict.ASSIGNMENT_ERROR, 1)],
)
def test_a_rejudge_that_fails_takes_no_points(
    database: Database, grader: Any, submit: Submit, verdict: Verdict, times: int
) -> None:
    public_id = submit()
    grader.grade()
    _rejudge(database, grader)
    for _ in range(times):
        grader.grade(verdict=verdict)
    assert _points(database, grader) == (70.0, 70.0, 1)
    with database.read() as session:
        found = submissions.get(session, public_id, grader.world.ta)
        report = submissions.report(session, found, staff=True)
        assert (found.state, report.verdict if report else None) == ("grader_error", verdict)
    _rejudge(database, grader)
    grader.grade(verdict=Verdict.WRONG_ANSWER)  # What it finds about the work counts at last.
    assert _points(database, grader) == (None, None, 0)


def test_a_rejudge_takes_no_room_in_the_quotas(database: Database, grader: Any, submit: Submit) -> None:
    for _ in range(2):
        submit(now=grader.now)
        grader.grade(verdict=Verdict.OVERLAP, seconds=1.0)  # Costs nothing.
    limits = {"attempt_limit": 2, "device_seconds_per_day": 100.0}
    grader.settings.queued_per_team = 2
    _limit(database, **limits)
    _rejudge(database, grader)
    submit(now=grader.now)
    with pytest.raises(NoDeviceTimeLeft):
        submit(now=grader.now)  # 60 s each are expected.
    _limit(database, device_seconds_per_day=None)
    submit(now=grader.now)
    with pytest.raises(TooManyQueued):
        submit(now=grader.now)
    grader.settings.queued_per_team = 20
    with pytest.raises(NoAttemptsLeft):
        submit(now=grader.now)
