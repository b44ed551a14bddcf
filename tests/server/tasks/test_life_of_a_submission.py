"""From POST to the final state through real processes, and what happens when one of them is lost."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redis import asyncio as redis_async
from sqlalchemy import select

from grader.contract import REPORT_BYTES, SERVER_QUEUE, STORE_TASK, events_key
from server.db.models import Attempt, Report
from server.grading.progress import START, Entry, read_after
from server.tasks.publisher import DISPATCH_TASK

if TYPE_CHECKING:
    from tests.server.tasks.conftest import Stage


def test_a_submission_is_graded_and_followed(stage: "Stage", eventually: Any) -> None:
    submission = stage.submit("sleep 1")
    events = stage.events(submission)
    names = [name for _, name, _ in events]
    assert names[0] == "state"
    assert names[-1] == "final"
    assert names.count("final") == 1
    assert events[-1][2]["verdict"] == "accepted"
    progress = [(identity, data) for identity, name, data in events if name == "progress"]
    assert [data["phase"] for _, data in progress] == ["fetch", "build", "public"]
    assert [data["seq"] for _, data in progress] == [1, 2, 3]
    assert stage.look(submission)["state"] == "done"
    # Whoever comes back gets what he has not seen, and the state from the database.
    resumed = stage.events(submission, last=progress[1][0])
    assert [identity for identity, name, _ in resumed if name == "progress"] == [progress[2][0]]
    assert resumed[-1][1] == "final"
    assert [name for _, name, _ in stage.events(submission, last="nonsense")].count("progress") == 3
    spool = stage.folder / "first" / "spool" / "first"
    eventually(lambda: not list(spool.iterdir()), "for the acknowledgement of the Report")


def test_the_same_on_postgresql(postgres_stage: "Stage") -> None:
    submissions = [postgres_stage.submit("pass") for _ in range(3)]
    for submission in submissions:
        assert postgres_stage.events(submission)[-1][2]["verdict"] == "accepted"


def test_events_reach_only_who_may_see_the_submission(stage: "Stage") -> None:
    submission = stage.submit("pass")
    path = f"{stage.url}/api/v1/submissions/{submission}/events"
    import httpx

    assert httpx.get(path).status_code == 401
    assert stage.student.get("submissions/0123456789abcdef/events").status_code == 404
    stage.wait_for(submission, "done")


def test_a_killed_worker_costs_a_lease_and_its_late_report_changes_nothing(
    stage: "Stage", eventually: Any
) -> None:
    first = stage.submit("sleep 60")
    stage.wait_for(first, "running")
    with stage.database.read() as session:
        attempt = session.scalars(select(Attempt).order_by(Attempt.id.desc()).limit(1)).one()
        old = {"token": attempt.token, "attempt": attempt.number}
    stage.student.post(f"submissions/{first}/cancel")
    stage.wait_for(first, "cancelled")

    submission = stage.submit("sleep 2")
    stage.wait_for(submission, "running")
    stage.kill_workers()
    stage.worker("second")
    found = stage.wait_for(submission, "done")
    assert found["verdict"] == "accepted"
    with stage.database.read() as session:
        attempts = session.scalars(
            select(Attempt).where(Attempt.submission.has(public_id=submission)).order_by(Attempt.number)
        ).all()
        assert [attempt.state.value for attempt in attempts] == ["lost", "reported"]
        report = session.scalars(select(Report).where(Report.attempt_id == attempts[1].id)).one()
        body = json.loads(report.body)
        lost = attempts[0].token
    forged = {**body, "token": lost, "attempt": 1, "verdict": "wrong_answer"}
    stage.queue.send_task(STORE_TASK, args=[json.dumps(forged)], queue=SERVER_QUEUE)
    stage.queue.send_task(
        STORE_TASK, args=[json.dumps({**body, "verdict": "wrong_answer"})], queue=SERVER_QUEUE
    )
    stage.queue.send_task(STORE_TASK, args=[json.dumps({**body, **old})], queue=SERVER_QUEUE)
    eventually(lambda: stage.waiting(SERVER_QUEUE) == 0, "for the late reports")
    with stage.database.read() as session:
        late = session.scalars(select(Report).where(Report.attempt_id == attempts[0].id)).one()
        assert not late.current
    assert stage.look(submission)["verdict"] == "accepted"
    assert stage.look(first)["state"] == "cancelled"


def test_what_cannot_be_read_harms_nobody(stage: "Stage", eventually: Any) -> None:
    submission = stage.submit("sleep 1")
    large = json.dumps({"version": 1, "x": "y" * REPORT_BYTES})
    for nonsense in ("", "{", '{"version": 99}', "[" * 100_000, large, 7, None, ["x"]):
        stage.queue.send_task(STORE_TASK, args=[nonsense], queue=SERVER_QUEUE)
    stage.queue.send_task(STORE_TASK, args=[], queue=SERVER_QUEUE)
    stage.queue.send_task("no.such.task", args=[], queue=SERVER_QUEUE)
    stage.queue.send_task(STORE_TASK, args=["\ud800"], queue=SERVER_QUEUE)
    running = stage.tasks.process
    info = {"exchange": "", "routing_key": SERVER_QUEUE}
    headed = {"body": "x", "properties": {"delivery_tag": "junk", "delivery_info": info}}
    for junk in (
        "not json", "[]", "{}", "null", '"x"', "9" * 5000, b"\xff",
        json.dumps({"body": "x", "headers": {}, "properties": {}}),
        json.dumps({"body": "x", "headers": {}, "properties": {"delivery_tag": "junk"}}),
        json.dumps({**headed, "headers": {"task": []}}),
        json.dumps({**headed, "headers": 7}),
    ):  # fmt: skip
        stage.broker.lpush(SERVER_QUEUE, junk)
    stage.broker.publish("/0.celery.pidbox", "not json")
    stage.queue.send_task(DISPATCH_TASK, args=[], queue=SERVER_QUEUE)
    assert stage.wait_for(submission, "done")["verdict"] == "accepted"
    eventually(lambda: stage.waiting(SERVER_QUEUE) == 0, "for the queue to be empty")
    assert stage.tasks.process is running
    assert stage.tasks.alive
    log = [json.loads(line) for line in stage.supervisor.tail("tasks", 1000).splitlines() if line[:1] == "{"]
    told = {line["event"] for line in log if line.get("submission") == submission and line["level"] == "info"}
    assert {"dispatched", "report stored"} <= told
    assert "message dropped" in {line["event"] for line in log}
    assert not [line for line in log if "received" in line["event"] and line["level"] == "info"]


def test_an_event_that_cannot_be_read_is_passed_over(stage: "Stage") -> None:
    submission = stage.submit("sleep 1")
    for nonsense in ("{}", "not json", '{"version": 99}'):
        stage.broker.xadd(events_key(submission), {"event": nonsense})
    events = stage.events(submission)
    assert [data["seq"] for _, name, data in events if name == "progress"] == [1, 2, 3]
    assert events[-1][1] == "final"
    entries = _read_all(stage.broker_url, submission)
    assert sum(not entry.readable for entry in entries) == 3
    assert _read_all(stage.broker_url, submission, entries[-1].id) == []


def _read_all(url: str, submission: str, last: str = START) -> list[Entry]:
    async def read() -> list[Entry]:
        async with redis_async.Redis.from_url(url) as broker:
            return await read_after(broker, submission, last, None)

    with ThreadPoolExecutor(1) as pool:  # The browser's tests leave a loop running in this thread.
        return pool.submit(asyncio.run, read()).result()


def test_a_judge_that_always_fails_ends_as_a_grader_error_after_three_attempts(stage: "Stage") -> None:
    submission = stage.submit("die")
    assert stage.wait_for(submission, "grader_error")["verdict"] == "grader_error"
    with stage.database.read() as session:
        states = session.scalars(select(Attempt.state).where(Attempt.submission.has(public_id=submission)))
        assert [state.value for state in states] == ["failed"] * 3


def test_cancelling_stops_the_judge(stage: "Stage", eventually: Any) -> None:
    submission = stage.submit("sleep 60")
    stage.wait_for(submission, "running")
    assert stage.student.post(f"submissions/{submission}/cancel").is_success
    assert stage.events(submission)[-1][2]["state"] == "cancelled"
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"


def test_a_broker_that_comes_back_empty_loses_no_submission(stage: "Stage") -> None:
    running = stage.submit("sleep 4")
    stage.wait_for(running, "running")
    stage.broker_child.kill()
    begin = time.monotonic()
    queued = stage.submit("pass")
    assert time.monotonic() - begin < 15.0
    assert stage.look(queued)["state"] == "queued"
    stage.empty_broker()
    stage.supervisor.watch()
    for submission in (running, queued):
        assert stage.wait_for(submission, "done")["verdict"] == "accepted"
        assert stage.events(submission)[-1][1] == "final"
    assert stage.broker.exists(events_key(queued))


def test_a_job_that_ends_while_the_broker_is_away_leaves_its_worker_listening(
    stage: "Stage", eventually: Any
) -> None:
    first = stage.submit("sleep 2")
    stage.wait_for(first, "running")
    stage.broker_child.kill()
    eventually(lambda: "Couldn't ack" in "".join(path.read_text() for path in stage.folder.glob("*.log")))
    stage.supervisor.watch()
    assert stage.wait_for(first, "done")["verdict"] == "accepted"
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"


def test_tasks_that_are_killed_come_back_to_what_was_left(stage: "Stage") -> None:
    submission = stage.submit("sleep 1")
    stage.wait_for(submission, "running")
    stage.tasks.kill()
    time.sleep(2.0)
    stage.supervisor.watch()
    assert stage.wait_for(submission, "done")["verdict"] == "accepted"


def test_nothing_is_left_behind(stage: "Stage") -> None:
    processes = [
        path.name
        for path in Path("/proc").glob("[0-9]*")
        if f"SOLMARK_JUDGE={stage.folder}".encode() in _environment(path)
    ]
    assert processes == []


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
