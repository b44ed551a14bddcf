"""Nodes on which something is wrong, in real processes: they keep no submission from being graded."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from grader.contract import GRADE_TASK, grade_queue
from server.db.models import Attempt, Submission
from server.grading import service

if TYPE_CHECKING:
    from tests.server.tasks.conftest import Stage

SKEWED = Path(__file__).with_name("skewed_worker.py")
DAY = 86400.0


def _attempts(stage: "Stage", submission: str) -> list[str]:
    with stage.database.read() as session:
        rows = session.scalars(
            select(Attempt.state)
            .join(Submission, Submission.id == Attempt.submission_id)
            .where(Submission.public_id == submission)
            .order_by(Attempt.number)
        )
        return [state.value for state in rows]


@pytest.mark.parametrize("skew", [2 * DAY, -2 * DAY])
def test_a_node_whose_clock_is_wrong_grades_all_the_same(patient_stage: "Stage", skew: float) -> None:
    patient_stage.worker("skewed", SKEWED, skew_seconds=skew)
    submission = patient_stage.submit("sleep 0.5")
    assert patient_stage.wait_for(submission, "done", "grader_error")["verdict"] == "accepted"
    assert _attempts(patient_stage, submission) == ["reported"]
    patient_stage.kill_workers()


def test_a_worker_whose_token_was_replaced_leaves_the_jobs_to_others(
    patient_stage: "Stage", eventually: Any
) -> None:
    stage, queue = patient_stage, grade_queue("cpu")
    with stage.database.begin() as session:
        _, token = service.register_node(session, "replaced")
    stage.worker("replaced", token=token)
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"
    with stage.database.begin() as session:
        _, token = service.register_node(session, "replaced")
    log = stage.folder / "replaced.log"
    eventually(lambda: "takes no more jobs" in log.read_text(), "for the worker to notice")
    stage.queue.send_task(GRADE_TASK, args=["not a job"], queue=queue)
    stage.worker("successor", token=token)
    for _ in range(3):
        assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"
    eventually(lambda: stage.waiting(queue) == 0, "for the last acknowledgement")
    assert "message dropped" in (stage.folder / "successor.log").read_text()
    assert not {"message dropped", "job dropped"} & set(log.read_text().split('"'))
    stage.kill_workers()


def test_one_thing_in_the_spool_that_cannot_be_read_keeps_no_report(
    patient_stage: "Stage", eventually: Any
) -> None:
    spool = patient_stage.folder / "damaged" / "spool" / "damaged"
    (spool / "0.json").mkdir(parents=True)
    patient_stage.worker("damaged")
    assert patient_stage.wait_for(patient_stage.submit("pass"), "done")["verdict"] == "accepted"
    eventually(lambda: [path.name for path in spool.iterdir()] == ["0.json"], "for the acknowledgement")
    patient_stage.kill_workers()
