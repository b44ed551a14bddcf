"""Rows that somebody holds and does not let go of, on the database that has locks of rows."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, text

from server.db.models import Assignment, Submission
from server.db.session import WAIT_SECONDS, Database
from server.errors import WrongState
from server.grading.states import SubmissionState
from server.submissions import service as submissions

Submit = Callable[..., str]
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


def test_a_sweep_passes_over_what_somebody_holds(database: Database, grader: Any, submit: Submit) -> None:
    held, free = submit("ann", now=grader.now), submit("bob", now=grader.now)
    grader.beat()
    for spec in grader.dispatch():
        grader.claim(spec, worker=spec.submission)
    grader.wait(grader.settings.lease_seconds + 1)
    with database.begin() as session:
        session.scalars(select(Assignment)).one().quarantined = grader.now

    def states() -> dict[str, SubmissionState]:
        with database.read() as session:
            return {row.public_id: row.state for row in session.scalars(select(Submission))}

    with database.engine.connect() as somebody:
        somebody.execute(
            text("SELECT id FROM submissions WHERE public_id = :held FOR UPDATE"), {"held": held}
        )
        somebody.execute(text("SELECT id FROM assignments FOR UPDATE"))
        assert grader.sweep().requeued == 1
        assert states() == {held: SubmissionState.RUNNING, free: SubmissionState.QUEUED}
        somebody.rollback()
    assert grader.sweep().requeued == 1
    assert states()[held] is SubmissionState.QUEUED


def test_an_author_who_was_slower_than_the_result_runs_nothing_again(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id, ann = submit("ann", now=grader.now), grader.world.ann
    with database.begin() as session:
        submissions.cancel(session, submissions.get(session, public_id, ann), by=ann, now=grader.now)
    with database.begin() as session:
        seen = submissions.get(session, public_id, ann)
        assert seen.state is SubmissionState.CANCELLED
        with database.begin() as other:
            again = submissions.get(other, public_id, ann)
            submissions.rerun(other, grader.settings, again, by=ann, now=grader.now)
        grader.grade()
        with pytest.raises(WrongState):
            submissions.rerun(session, grader.settings, seen, by=ann, now=grader.now)


def test_nobody_waits_for_ever(database: Database) -> None:
    for kind in (database.begin, database.read):
        with kind() as session:
            assert session.scalar(text("SHOW lock_timeout")) == f"{WAIT_SECONDS}s"
