"""Real workers that are told to stop, paused, or have gone deaf, on a site of real processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, text

from grader.contract import GRADE_TASK, grade_queue
from server.db.base import utc_now
from server.db.models import Attempt, Submission, User, Worker
from server.db.models.node import NodeState
from server.grading import service
from server.metrics.counters import Counters

if TYPE_CHECKING:
    from tests.server.tasks.conftest import Stage

DEAF = Path(__file__).parent / "deaf_worker.py"


@pytest.fixture
def stage(patient_stage: "Stage") -> Iterator["Stage"]:
    """Each test starts its own workers."""
    yield patient_stage
    patient_stage.kill_workers()


def _attempts(stage: "Stage", submission: str) -> list[str]:
    with stage.database.read() as session:
        rows = session.scalars(
            select(Attempt.state).where(Attempt.submission.has(public_id=submission)).order_by(Attempt.number)
        )
        return [state.value for state in rows]


def _worker(stage: "Stage", name: str) -> Worker | None:
    with stage.database.read() as session:
        return session.scalar(select(Worker).where(Worker.name == name))


def test_on_sigterm_a_job_finishes_within_the_grace(stage: "Stage") -> None:
    worker = stage.worker("patient", grace_seconds=20.0)
    submission = stage.submit("sleep 1")
    stage.wait_for(submission, "running")
    worker.send_signal(signal.SIGTERM)
    assert stage.wait_for(submission, "done")["verdict"] == "accepted"
    assert worker.wait(30) == 0
    assert _attempts(stage, submission) == ["reported"]
    found = _worker(stage, "patient")
    assert found is not None
    assert found.state is NodeState.DRAINING  # It said good-bye: nobody counts on it.


def test_on_sigterm_a_longer_job_returns_to_the_queue_at_no_cost(stage: "Stage") -> None:
    worker = stage.worker("hasty", grace_seconds=0.2)
    submission = stage.submit("sleep 3")
    stage.wait_for(submission, "running")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert _attempts(stage, submission)[0] == "returned"
    with stage.database.read() as session:
        row = session.scalars(select(Submission).where(Submission.public_id == submission)).one()
        assert (row.failed_attempts, row.charged_attempt) == (0, False)
    stage.worker("successor")
    assert stage.wait_for(submission, "done")["verdict"] == "accepted"
    assert _attempts(stage, submission) == ["returned", "reported"]


def test_a_paused_node_takes_nothing_from_the_queue_until_it_goes_on(stage: "Stage", eventually: Any) -> None:
    stage.worker("pausing", probe_seconds=0.3)
    running = stage.submit("sleep 2")
    stage.wait_for(running, "running")
    _set(stage, NodeState.PAUSED)
    assert stage.wait_for(running, "done")["verdict"] == "accepted"  # What it has is finished.
    log = stage.folder / "pausing.log"
    eventually(lambda: "takes no more jobs" in log.read_text(), "for the pause")
    queue = grade_queue("cpu")
    eventually(lambda: _probed(stage, "pausing") < 1.0, "for a probe after it")
    stage.queue.send_task(GRADE_TASK, args=["not a job"], queue=queue)
    waiting = stage.submit("pass")
    for _ in range(3):  # It still hears what is sent to it alone, and leaves the others' queue untouched.
        eventually(lambda: _probed(stage, "pausing") < 1.0, "for a probe")
        assert stage.waiting(queue) == 1
    assert stage.look(waiting)["state"] == "queued"
    _set(stage, NodeState.ACTIVE)
    assert stage.wait_for(waiting, "done")["verdict"] == "accepted"
    assert stage.waiting(queue) == 0


def test_a_node_in_quarantine_takes_nothing_but_its_trial_and_comes_back_by_it(
    stage: "Stage", eventually: Any
) -> None:
    stage.worker("suspect", probe_seconds=0.3)
    eventually(lambda: _probed(stage, "suspect") < 1.0, "for a probe")
    with stage.database.begin() as session:
        node = service.node(session, "node")
        node.state = NodeState.QUARANTINED
        node.quarantine = {"failures": 3, "students": 2, "nodes": ["node"], "assignments": []}
    log = stage.folder / "suspect.log"
    eventually(lambda: "takes no more jobs" in log.read_text(), "for the quarantine")
    stage.queue.send_task(GRADE_TASK, args=["not a job"], queue=grade_queue("cpu"))
    waiting = stage.submit("pass")
    with stage.database.begin() as session:
        node = service.node(session, "node")
        node.quarantine = {**(node.quarantine or {}), "since": utc_now().isoformat()}
    assert stage.wait_for(waiting, "done")["verdict"] == "accepted"
    assert "message dropped" not in log.read_text(), "what is meant for everybody was left in the queue"
    eventually(lambda: "takes jobs again" in log.read_text(), "for the end of the quarantine")
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"


def test_a_worker_that_lives_but_hears_nothing_is_noticed_and_ends(stage: "Stage", eventually: Any) -> None:
    worker = stage.worker("deaf", DEAF, probe_seconds=0.5)
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"
    eventually(lambda: _probed(stage, "deaf") < 1.0, "for a probe")
    worker.send_signal(signal.SIGRTMIN)
    eventually(lambda: not _consuming(stage, "deaf"), "for the server to know")
    assert worker.poll() is None  # Its process lives, and beats.
    submission = stage.submit("pass")
    assert worker.wait(30) == os.EX_TEMPFAIL
    assert stage.look(submission)["state"] == "queued"  # Nothing was published for it.
    assert _attempts(stage, submission) == []
    stage.worker("deaf", DEAF, probe_seconds=0.5)  # What kept it up starts another.
    assert stage.wait_for(submission, "done")["verdict"] == "accepted"
    assert _consuming(stage, "deaf")


def test_a_report_that_cannot_be_committed_stays_with_its_worker_until_it_is(
    stage: "Stage", eventually: Any
) -> None:
    stage.worker("keeping", resend_seconds=(0.3, 0.3))
    spool = stage.folder / "keeping" / "spool" / "keeping"
    database = stage.database.writer
    with database.begin() as connection:  # Everything goes well until the commit.
        connection.execute(
            text("CREATE TABLE broken (id INTEGER REFERENCES nodes (id) DEFERRABLE INITIALLY DEFERRED)")
        )
        connection.execute(
            text("CREATE TRIGGER broken AFTER INSERT ON reports BEGIN INSERT INTO broken VALUES (-1); END")
        )
    try:
        submission = stage.submit("pass")
        eventually(lambda: _failed(stage) > 3, "for the Report to be refused again and again")
        assert stage.look(submission)["state"] == "running"
        (kept,) = spool.glob("*.json")
        assert submission in kept.read_text()
    finally:
        with database.begin() as connection:
            connection.execute(text("DROP TRIGGER broken"))
            connection.execute(text("DROP TABLE broken"))
    assert stage.wait_for(submission, "done")["verdict"] == "accepted"
    eventually(lambda: not list(spool.glob("*.json")), "for the acknowledgement")
    assert _attempts(stage, submission) == ["reported"]


def _failed(stage: "Stage") -> float:
    """How often a Report could not be stored, as the server counts it."""
    return Counters(stage.broker).read().get("report_messages|failed|", 0.0)


def _set(stage: "Stage", state: NodeState) -> None:
    with stage.database.begin() as session:
        by = session.scalars(select(User)).first()
        assert by is not None
        service.set_node_state(session, service.node(session, "node"), state, by=by)


def _probed(stage: "Stage", name: str) -> float:
    found = _worker(stage, name)
    seconds = None if found is None else found.health.get("probe_seconds")
    return float("inf") if seconds is None else float(seconds)


def _consuming(stage: "Stage", name: str) -> bool:
    found = _worker(stage, name)
    return found is not None and found.consuming
