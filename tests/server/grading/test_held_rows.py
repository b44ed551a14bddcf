"""Rows that somebody holds and does not let go of, on the database that has locks of rows."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from server.db.models import Assignment, Submission
from server.db.session import WAIT_SECONDS, Database
from server.errors import WrongState
from server.grading import service
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


def test_nobody_waits_for_ever(database: Database, database_url: str) -> None:
    hasty = Database(database_url, pool=1, row_seconds=7)
    for found, seconds in ((database, WAIT_SECONDS), (hasty, 7)):
        for kind in (found.begin, found.read):
            with kind() as session:
                assert session.scalar(text("SHOW lock_timeout")) == f"{seconds}s"
    hasty.close()


def test_a_report_on_what_somebody_holds_is_stored_when_it_comes_again(
    database: Database, database_url: str, grader: Any, submit: Submit
) -> None:
    submit("ann", now=grader.now)
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    report = grader.report(spec)
    hasty = Database(database_url, pool=1, row_seconds=1)
    with database.engine.connect() as somebody:
        somebody.execute(text("SELECT id FROM submissions FOR UPDATE"))
        with pytest.raises(OperationalError), hasty.begin() as session:
            service.store_report(session, grader.settings, report.model_dump_json(), now=grader.now)
        somebody.rollback()
    hasty.close()
    assert grader.send(report).outcome == "stored"
