"""Nodes and workers: pause, drain, set aside; health, and whether what is sent to a worker reaches it."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from server.db.models import AuditEntry, Node, Submission, User, Worker
from server.db.models.node import NodeState
from server.db.session import Database, Job
from server.errors import NodeStopped, StaleAttempt
from server.grading import service
from server.grading.states import AttemptState, SubmissionState

Submit = Callable[..., str]
PASSWORD = "correct horse battery"
STOPPED = (NodeState.PAUSED, NodeState.DRAINING, NodeState.SET_ASIDE, NodeState.QUARANTINED)


def _set(database: Database, grader: Any, state: NodeState, name: str = "node-1") -> None:
    with database.begin() as session:
        by = session.get_one(User, grader.world.ta.id)
        service.set_node_state(session, service.node(session, name), state, by=by, now=grader.now)


def _state(database: Database, public_id: str) -> SubmissionState:
    with database.read() as session:
        return session.scalars(select(Submission.state).where(Submission.public_id == public_id)).one()


@pytest.mark.parametrize("state", STOPPED)
def test_a_stopped_node_that_took_a_message_does_not_delay_it(
    database: Database, grader: Any, submit: Submit, jobs: list[Job], state: NodeState
) -> None:
    """Nodes share the queue of their hardware: the message goes out again at once, for the others."""
    with database.begin() as session:
        second, _ = service.register_node(session, "node-2")
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    _set(database, grader, state)
    with pytest.raises(NodeStopped):
        grader.claim(spec)
    with database.begin() as session:
        service.heartbeat(
            session, grader.settings, node=session.get_one(Node, second.id), worker="w9", hardware="cpu",
            versions={}, now=grader.now,
        )  # fmt: skip
    grader.wait(1)
    jobs.clear()
    assert grader.sweep().republished == 1
    assert [job.name for job in jobs if job.name == "run"] == ["run"]
    with database.begin() as session:
        node = session.get_one(Node, second.id)
        service.claim(session, grader.settings, token=spec.token, node=node, worker="w9", now=grader.now)
    assert _state(database, public_id) is SubmissionState.RUNNING


@pytest.mark.parametrize("state", STOPPED)
def test_what_runs_on_a_stopped_node_is_finished_except_where_it_is_set_aside(
    database: Database, grader: Any, submit: Submit, jobs: list[Job], state: NodeState
) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    jobs.clear()
    _set(database, grader, state)
    answer = grader.beat(token=spec.token)
    assert answer.state is state
    if state is not NodeState.SET_ASIDE:
        assert not answer.cancelled
        assert grader.send(grader.report(spec)).outcome == "stored"
        assert _state(database, public_id) is SubmissionState.DONE
        return
    assert answer.cancelled
    assert [job.arguments["token"] for job in jobs if job.name == "cancel"] == [spec.token]
    with database.read() as session:
        found = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
        assert (found.state, found.failed_attempts) == (SubmissionState.QUEUED, 0)
        assert [row.state for row in service.attempts(session, found)] == [AttemptState.RETURNED]
    assert grader.send(grader.report(spec)).outcome == "late"
    with pytest.raises(StaleAttempt):
        grader.claim(spec)


def test_nothing_is_published_for_a_worker_that_does_not_consume(
    database: Database, grader: Any, submit: Submit, jobs: list[Job]
) -> None:
    submit()

    def beat(consuming: bool) -> None:
        with database.begin() as session:
            node = session.get_one(Node, grader.world.node.id)
            service.heartbeat(
                session, grader.settings, node=node, worker="w1", hardware="cpu", versions={}, now=grader.now,
                consuming=consuming, health={"probe_seconds": 99.0},
            )  # fmt: skip

    beat(consuming=False)
    assert grader.dispatch() == []
    with database.read() as session:
        (worker,) = service.workers(session)
        assert (worker.consuming, worker.health) == (False, {"probe_seconds": 99.0})
    jobs.clear()
    beat(consuming=True)
    assert Job("dispatch") in jobs
    assert len(grader.dispatch()) == 1


@pytest.mark.parametrize("state", [NodeState.DRAINING, NodeState.PAUSED])
def test_nothing_is_published_for_a_worker_that_said_good_bye(
    database: Database, grader: Any, submit: Submit, state: NodeState
) -> None:
    """Staff want its node active: what the worker says of itself counts, too."""
    submit()
    grader.beat()
    with database.begin() as session:
        node = session.get_one(Node, grader.world.node.id)
        service.heartbeat(
            session, grader.settings, node=node, worker="w1", hardware="cpu", versions={}, state=state,
            now=grader.now,
        )  # fmt: skip
    assert grader.dispatch() == []
    grader.beat()
    assert len(grader.dispatch()) == 1


def test_only_the_node_that_has_a_job_gives_it_back(database: Database, grader: Any, submit: Submit) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()

    def give_back(name: str) -> None:
        with database.begin() as session:
            node = service.node(session, name)
            service.return_job(session, token=spec.token, node=node, now=grader.now)

    with database.begin() as session:
        service.register_node(session, "node-2")
    with pytest.raises(StaleAttempt):
        give_back("node-1")  # It has not begun.
    grader.claim(spec)
    with pytest.raises(StaleAttempt):
        give_back("node-2")
    assert _state(database, public_id) is SubmissionState.RUNNING
    give_back("node-1")
    assert _state(database, public_id) is SubmissionState.QUEUED
    with pytest.raises(StaleAttempt):
        give_back("node-1")


def test_staff_see_and_steer_nodes_over_http(
    client: httpx.Client, token: Any, database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    node = {"Authorization": f"Bearer {grader.world.node_token}"}
    health = {"probe_seconds": 2.5, "spooled_reports": 1, "disk_free_bytes": 1 << 40}
    beat = {"worker": "w1", "hardware": "cpu", "versions": {"solmark": "1"}, "health": health}
    assert client.post("/internal/heartbeat", json=beat, headers=node).json()["state"] == "active"
    staff, student = token("ta"), token("ann", "read", "submit")
    (worker,) = client.get("/api/v1/workers", headers=staff).json()["items"]
    assert worker["health"] == health
    assert (worker["job"]["submission"], worker["job"]["attempt"]) == (public_id, 1)
    assert worker["consuming"]
    for headers, status in ((student, 403), ({}, 401), (token("ta", "read"), 403)):
        for method, path in (("GET", "/api/v1/nodes"), ("PATCH", "/api/v1/nodes/node-1")):
            answer = client.request(method, path, headers=headers, json={"state": "paused"})
            assert answer.status_code == status, (method, path)
    answer = client.patch("/api/v1/nodes/node-1", headers=staff, json={"state": "draining"})
    assert answer.json()["state"] == "draining"
    assert client.post("/internal/heartbeat", json=beat, headers=node).json()["state"] == "draining"
    assert client.patch("/api/v1/nodes/nowhere", headers=staff, json={"state": "active"}).status_code == 404
    assert client.patch("/api/v1/nodes/node-1", headers=staff, json={"state": "asleep"}).status_code == 422
    (found,) = client.get("/api/v1/nodes", headers=staff).json()["items"]
    assert (found["name"], found["state"], found["quarantine"]) == ("node-1", "draining", None)
    with database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "node.state")).one()
        assert (entry.actor_id, entry.details) == (grader.world.ta.id, {"state": "draining"})


@pytest.mark.parametrize("bad", [{"probe_seconds": -1}, {"spooled_reports": 1 << 40}, {"else": 1}, []])
def test_health_that_makes_no_sense_is_refused(client: httpx.Client, world: Any, bad: Any) -> None:
    node = {"Authorization": f"Bearer {world.node_token}"}
    beat = {"worker": "w1", "hardware": "cpu", "health": bad}
    assert client.post("/internal/heartbeat", json=beat, headers=node).status_code == 422


def test_the_page_of_the_queue_lets_staff_act(
    client: httpx.Client, database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.grade()
    with database.begin() as session:
        row = session.scalars(select(Submission)).one()
        row.assignment.quarantined = grader.now
        row.assignment.quarantine = {"failures": 3, "students": 2, "nodes": ["node-1"], "assignments": []}
        worker = session.scalars(select(Worker)).one()
        worker.consuming = False
    origin = {"Origin": str(client.base_url).rstrip("/")}
    client.post("/login", data={"login": "ta", "password": PASSWORD, "next": "/"}, headers=origin)
    page = client.get("/staff/queue").text
    for text in ("node-1", "Does not consume", "3 failures", "2 students", "kernels/double"):
        assert text in page
    answer = client.post("/staff/nodes/node-1", data={"state": "paused"}, headers=origin)
    assert (answer.status_code, answer.headers["location"]) == (303, "/staff/queue")
    with database.read() as session:
        assert service.node(session, "node-1").state is NodeState.PAUSED
    one = "/courses/demo/assignments/kernels/double"
    assert client.post(f"{one}/lift", data={}, headers=origin).status_code == 303
    with database.read() as session:
        row = session.scalars(select(Submission)).one()
        assert (row.assignment.quarantined, row.state) == (None, SubmissionState.DONE)
    form = {"assignment": "demo kernels/double", "errors_only": "false"}
    assert client.post("/staff/rejudge", data=form, headers=origin).status_code == 303
    assert _state(database, public_id) is SubmissionState.QUEUED
    client.cookies.clear()
    client.post("/login", data={"login": "ann", "password": PASSWORD, "next": "/"}, headers=origin)
    for path, data in (
        ("/staff/nodes/node-1", {"state": "active"}),
        (f"{one}/lift", {}),
        ("/staff/rejudge", form),
    ):
        assert client.post(path, data=data, headers=origin).status_code == 403, path
