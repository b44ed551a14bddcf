"""Reports of which nobody knows whose doing they are: they do no harm to those that come later."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from grader.contract import Verdict
from server.db.models import Attempt, DeviceUsage, Submission
from server.db.session import Database
from server.grading import fairness, service
from server.grading.lifecycle import DEADLINE_SLACK

Submit = Callable[..., str]


@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.GRADER_ERROR])
def test_no_attempt_takes_longer_than_it_was_given(
    database: Database, grader: Any, submit: Submit, verdict: Verdict
) -> None:
    for _ in range(2):
        submit(now=grader.now)
        for _ in range(1 if verdict is Verdict.ACCEPTED else grader.settings.max_attempts):
            grader.grade(verdict=verdict, seconds=1.7e308)
    given = grader.settings.job_seconds + DEADLINE_SLACK
    with database.read() as session:
        assert set(session.scalars(select(Attempt.device_seconds))) == {given}
        charged = set(session.scalars(select(Submission.charged_seconds)))
        assert charged == {given if verdict is Verdict.ACCEPTED else 0.0}
    public_id = submit("bob", now=grader.now)  # Hand-ins go on, and what is expected of them is a number.
    with database.read() as session:
        found = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
        assert found.expected_seconds <= given
        assert service.place(session, grader.settings, found, now=grader.now) is not None


def test_who_provokes_times_that_scatter_is_not_first_for_ever(
    database: Database, grader: Any, submit: Submit
) -> None:
    used = {}
    for login, verdict in (("ann", Verdict.UNSTABLE_TIMING), ("bob", Verdict.GRADER_ERROR)):
        submit(login, now=grader.now)
        for _ in range(grader.settings.max_attempts):
            grader.grade(verdict=verdict, seconds=100.0)
    with database.read() as session:
        for row in session.scalars(select(DeviceUsage)):
            used[row.user_id] = fairness.recent_seconds(row.weight, grader.now)
        charged = session.scalars(select(Submission).where(Submission.charged_attempt)).all()
    assert used == {grader.world.ann.id: pytest.approx(300.0)}
    assert charged == []  # It costs no attempt all the same.
    submit("ann", now=grader.now)
    later = submit("bob", now=grader.now)
    grader.beat()
    assert grader.dispatch()[0].submission == later
