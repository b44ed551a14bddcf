"""What operators see of a known sequence of events: metrics, and the lines of the logs."""

import json
import re
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from grader.contract import SERVER_QUEUE, STORE_TASK
from server.db.models import Report
from server.embedded import wait_until

if TYPE_CHECKING:
    from tests.server.tasks.conftest import Stage

DOCUMENTED = Path(__file__).parents[3] / "docs" / "metrics.md"
Values = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def values(text: str) -> Values:
    """(name, labels) of every sample to its value."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Values, name: str, **labels: str) -> float:
    return found[f"solmark_{name}", frozenset(labels.items())]


def check_histograms(found: Values, stored: float) -> None:
    """Waits and phases of so many stored Reports, each of which says that a phase took 0.25 s."""
    waited = value(found, "wait_seconds_count", hardware="cpu")
    assert 1 <= waited <= stored
    assert value(found, "wait_seconds_bucket", hardware="cpu", le="+Inf") == waited
    assert value(found, "phase_seconds_count", phase="public") == stored
    assert value(found, "phase_seconds_sum", phase="public") == pytest.approx(0.25 * stored)
    assert value(found, "phase_seconds_bucket", phase="public", le="0.1") == 0
    assert value(found, "phase_seconds_bucket", phase="public", le="0.3") == stored


def read(stage: "Stage") -> Values:
    answer = httpx.get(f"{stage.url}/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return values(answer.text)


@pytest.fixture(scope="module")
def web(stage: "Stage") -> str:
    """URL of a web server in a process of its own, whose lines are in `logs/web.log`."""
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "server.cli", "serve", "--port", str(port)]
    environment = {
        "SOLMARK_BROKER_URL": stage.broker_url,
        "SOLMARK_DATABASE_URL": stage.settings.database_url,
        "SOLMARK_SERVER_HOME": str(stage.folder),
    }
    stage.supervisor.start("web", command, environment=environment)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{url}/readyz").is_success
        except httpx.HTTPError:
            return False

    wait_until(answers, "web", stage.supervisor, 60.0)
    return url


def test_a_known_sequence_is_counted_as_it_was(stage: "Stage", eventually: Callable[..., Any]) -> None:
    before = read(stage)
    assert value(before, "up", part="database") == value(before, "up", part="broker") == 1
    good = stage.submit("pass")
    stage.wait_for(good, "done")
    failing = stage.submit("die")
    stage.wait_for(failing, "grader_error")
    running = stage.submit("sleep 60")
    stage.wait_for(running, "running")
    waiting = [stage.submit("pass") for _ in range(2)]
    middle = read(stage)
    assert value(middle, "submissions", state="running", hardware="cpu") == 1
    assert value(middle, "attempts_open", state="running", hardware="cpu") == 1
    assert value(middle, "queue_depth", hardware="cpu") >= 1
    assert value(middle, "queue_oldest_seconds", hardware="cpu") > 0
    assert value(middle, "workers", hardware="cpu", state="active") == 1
    assert stage.student.post(f"submissions/{running}/cancel").is_success
    for submission in waiting:
        stage.wait_for(submission, "done", "cancelled")

    lost = stage.submit("sleep 2")
    stage.wait_for(lost, "running")
    stage.kill_workers()
    stage.worker("second")
    stage.wait_for(lost, "done")
    with stage.database.read() as session:
        body = session.scalars(select(Report.body).where(Report.current)).first()
    assert body is not None
    for raw in (body, "{"):
        stage.queue.send_task(STORE_TASK, args=[raw], queue=SERVER_QUEUE)
    eventually(lambda: value(read(stage), "report_messages_total", outcome="refused") == 1)
    found = read(stage)

    states = {
        row["id"]: row["state"] for row in stage.student.get("courses/demo/submissions").json()["items"]
    }
    for state in ("done", "cancelled", "grader_error", "queued", "running"):
        count = sum(one == state for one in states.values())
        assert value(found, "submissions", state=state, hardware="cpu") == count, state
    stored = sum(state == "done" for state in states.values())
    assert value(found, "attempts_total", state="reported") == stored
    assert value(found, "attempts_total", state="failed") == 3
    assert value(found, "attempts_total", state="lost") == value(found, "lease_expiries_total") == 1
    assert value(found, "attempts_total", state="cancelled") >= 1
    assert value(found, "queue_depth", hardware="cpu") == 0
    assert value(found, "queue_oldest_seconds", hardware="cpu") == 0
    assert value(found, "workers", hardware="cpu", state="active") >= 1
    assert value(found, "broker_messages", queue="grade.cpu") == 0
    assert value(found, "nodes", state="active") == 1
    assert value(found, "nodes", state="quarantined") == value(found, "assignments_quarantined") == 0
    # Of a judge that died three times the node sends Reports too.
    assert value(found, "report_messages_total", outcome="stored") == stored + 3
    assert value(found, "report_messages_total", outcome="duplicate") == 1
    assert value(found, "report_messages_total", outcome="failed") == 0
    assert value(found, "report_retries_total") == 1
    check_histograms(found, stored)
    assert value(found, "disk_free_bytes") > 0


def test_each_metric_is_documented_and_each_documented_one_is_there(stage: "Stage") -> None:
    text = httpx.get(f"{stage.url}/metrics").text
    families = {
        family.name + ("_total" if family.type == "counter" else ""): family
        for family in text_string_to_metric_families(text)
    }
    rows = re.findall(r"^\| `(solmark_\w+)` \| (\w+) \|([\w, ]*)\|", DOCUMENTED.read_text(), re.MULTILINE)
    assert rows
    assert {name for name, _, _ in rows} == set(families)
    for name, kind, labels in rows:
        family = families[name]
        assert family.type == kind, name
        assert family.documentation
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(labels.replace(",", " ").split()), name


def test_a_broker_that_is_away_leaves_out_what_it_knows(stage: "Stage") -> None:
    stage.broker_child.kill()
    try:
        found = read(stage)
        assert value(found, "up", part="database") == 1
        assert value(found, "up", part="broker") == 0
        assert not [name for name, _ in found if name.startswith("solmark_report")]
    finally:
        stage.supervisor.watch()


def test_one_submission_is_followed_through_server_queue_and_worker_by_its_id(
    stage: "Stage", web: str, eventually: Callable[..., Any]
) -> None:
    stage.kill_workers()
    inside = stage.url
    stage.url = web
    try:
        stage.worker("third")
    finally:
        stage.url = inside
    headers = stage.student.headers
    path = f"{web}/api/v1/courses/demo/assignments/kernels/double/submissions"
    body = {"files": {"solution.py": "pass"}, "mode": "test"}
    submission = httpx.post(path, json=body, headers=headers).json()["id"]
    stage.wait_for(submission, "done")

    def lines(path: Path) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        return [line for line in found if line.get("submission") == submission]

    def told() -> list[list[str]]:
        server = [
            f"{line['event']} {line['path'].rpartition('/')[2]}"
            for line in lines(stage.folder / "logs" / "web.log")
        ]
        queue = [line["event"] for line in lines(stage.folder / "logs" / "tasks.log")]
        worker = [line["event"] for line in lines(stage.folder / "third.log")]
        return [server, queue, worker]

    eventually(lambda: "report stored" in told()[1])
    server, queue, worker = told()
    assert server[:2] == ["request submissions", "request claim"]
    assert queue == ["dispatched", "report stored"]
    assert worker == ["job started", "job done"]
    places = (
        stage.folder / "logs" / "web.log",
        stage.folder / "logs" / "tasks.log",
        stage.folder / "third.log",
    )
    for place in places:
        for line in lines(place):
            assert line["timestamp"]
            assert line["level"] == "info"
            assert line.get("attempt") == 1 or line.get("path", "").endswith("/submissions")
