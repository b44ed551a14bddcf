"""The worker as its neighbours see it: real broker and process, an HTTP server that plays the server.

Only the judge is a stand-in, which does what the submitted file says.
"""

import base64
import contextlib
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery  # type: ignore[import-untyped]

from grader import archive
from grader.assignment import find, load
from grader.contract import (
    GRADE_TASK,
    QUEUE_SETTINGS,
    SERVER_QUEUE,
    JobSpec,
    Mode,
    Report,
    SourceFile,
    Target,
    Verdict,
    cancel_key,
    events_key,
    grade_queue,
    read,
    stored_key,
)
from grader.node.settings import NodeSettings, SettingsError
from server.embedded import Supervisor, start_broker

HERE = Path(__file__).parent
ASSIGNMENT = load(find("kernels/add-rmsnorm"))
BUNDLE = archive.pack(archive.collect(ASSIGNMENT.root, archive.members(ASSIGNMENT.root)[0]))
NODE_TOKEN = "token-of-the-node"
WAIT_SECONDS = 20.0


def eventually(condition: Callable[[], Any], what: str = "") -> Any:
    """Wait until the condition holds; its value."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain {what}"
        time.sleep(0.05)
    return found


class FakeServer(ThreadingHTTPServer):
    """The part of the server that a worker talks to; it counts what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.blobs = {hashlib.sha256(BUNDLE).hexdigest(): BUNDLE}
        self.asked: list[tuple[str, str]] = []
        self.claimed: dict[str, str] = {}
        self.stale: set[str] = set()
        self.returned: list[str] = []
        self.heartbeats: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        digest = self.path.rpartition("/")[2]
        self.server.asked.append((self._token, digest))
        self._answer(200, self.server.blobs[digest]) if digest in self.server.blobs else self._answer(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {NODE_TOKEN}":
            self._answer(401)
        elif self.path == "/internal/heartbeat":
            self.server.heartbeats.append({**body, "token": self._token})
            self._answer(200, b'{"state": "active", "cancelled": false}')
        elif self.path == "/internal/attempts/claim" and self._token in self.server.stale:
            self._answer(409)
        elif self.path == "/internal/attempts/claim":
            self.server.claimed[self._token] = body["worker"]
            self._answer(200, b"{}")
        else:
            self.server.returned.append(self._token)
            self._answer(204)

    @property
    def _token(self) -> str:
        return self.headers.get("X-Solmark-Attempt", "")

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Stage:
    """Broker, fake server and workers of this module."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.folder = folder
        self.supervisor = supervisor
        self.url = start_broker(supervisor, folder)
        self.broker = redis.Redis.from_url(self.url)
        self.server = FakeServer()
        self.app = Celery(broker=self.url, set_as_current=False)
        self.app.conf.update(**QUEUE_SETTINGS)
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()
        self._number = 0
        self._workers: list[subprocess.Popen[bytes]] = []

    def worker(self, node: str, hardware: str, **settings: Any) -> subprocess.Popen[bytes]:
        values = {
            "broker_url": self.url, "server_url": self.server.url, "token": NODE_TOKEN, "node": node,
            "hardware": hardware, "home": str(self.folder / "node"), "heartbeat_seconds": 0.5,
            "fetch_seconds": 1.0, "judge_command": [sys.executable, str(HERE / "fake_judge.py")],
            "judge_ahead": False, **settings,
        }  # fmt: skip
        command = [sys.executable, str(HERE / "worker_process.py"), json.dumps(values)]
        with (self.folder / f"{node}.log").open("ab") as log:
            worker = subprocess.Popen(command, stdout=log, stderr=log)
        self._workers.append(worker)
        return worker

    def job(self, says: str, hardware: str, *, known: bool = True, **changes: Any) -> JobSpec:
        self._number += 1
        data = says.encode()
        digest = hashlib.sha256(data).hexdigest()
        if known:
            self.server.blobs[digest] = data
        values: dict[str, Any] = {
            "submission": f"s{self._number}",
            "attempt": 1,
            "token": f"token-of-attempt-{self._number}",
            "mode": Mode.TEST,
            "assignment": "kernels/add-rmsnorm",
            "bundle": hashlib.sha256(BUNDLE).hexdigest(),
            "files": (SourceFile(name="solution.py", sha256=digest, size=len(data)),),
            "target": Target(hardware=hardware),
            "deadline": time.time() + 600,
        }
        return JobSpec(**{**values, **changes})

    def send(self, job: JobSpec) -> JobSpec:
        self.app.send_task(GRADE_TASK, args=[job.model_dump_json()], queue=grade_queue(job.target.hardware))
        return job

    def sent(self) -> list[str]:
        """Reports in the server's queue, oldest first, as text."""
        messages = reversed(self.broker.lrange(SERVER_QUEUE, 0, -1))
        bodies = [json.loads(message)["body"] for message in messages]
        return [json.loads(base64.b64decode(body))[0][0] for body in bodies]

    def report(self, job: JobSpec) -> Report:
        def found() -> Report | None:
            reports = (read(Report, text) for text in self.sent())
            return next((report for report in reports if report.token == job.token), None)

        report: Report = eventually(found, f"for a report on {job.submission}")
        return report

    def events(self, job: JobSpec) -> list[dict[str, Any]]:
        entries: Any = self.broker.xrange(events_key(job.submission))
        return [json.loads(fields[b"event"]) for _, fields in entries]

    def waiting(self, hardware: str) -> int:
        return self.broker.llen(grade_queue(hardware)) + self.broker.hlen("unacked")

    def judges(self, hardware: str) -> list[int]:
        """Live processes of the stand-in on that hardware, its children included."""
        mark = f"SOLMARK_JUDGE={self.folder / 'node' / 'locks' / hardware}.lock".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
        self.app.close()
        self.broker.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with Supervisor(folder) as supervisor:
        stage = Stage(folder, supervisor)
        stage.worker("node-1", "cpu", session_seconds=4.0)
        yield stage
        stage.close()


def test_a_job_becomes_a_report(stage: Stage) -> None:
    job = stage.send(stage.job("folder", "cpu"))
    report = stage.report(job)
    assert report.message.en == (ASSIGNMENT.root / "assignment.toml").read_text()[:100]
    assert report.environment.node == "node-1"
    assert stage.server.claimed[job.token] == "node-1"
    events = stage.events(job)
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert [event["phase"] for event in events] == ["fetch", "build", "public"]
    eventually(lambda: stage.waiting("cpu") == 0, "for the acknowledgement")
    assert any(beat["hardware"] == "cpu" and beat["worker"] == "node-1" for beat in stage.server.heartbeats)


def test_a_bundle_is_fetched_once(stage: Stage) -> None:
    for job in [stage.send(stage.job("pass", "cpu")) for _ in range(2)]:
        assert stage.report(job).verdict is Verdict.ACCEPTED
    digest = hashlib.sha256(BUNDLE).hexdigest()
    assert [found for _, found in stage.server.asked].count(digest) == 1


@pytest.mark.parametrize(
    ("says", "code", "cause"),
    [
        ("die", "judge_failed", "exit code 3"),
        ("die", "judge_failed", "the cause of death"),
        ("garbage", "judge_failed", "cannot be read"),
        ("forge", "judge_failed", "cannot be read|not on this job"),
        ("large", "report_too_large|judge_failed", "bytes"),
        ("sleep 60", "judge_failed", "hard deadline"),
    ],
)
def test_a_judge_that_fails_is_a_grader_error(stage: Stage, says: str, code: str, cause: str) -> None:
    report = stage.report(stage.send(stage.job(says, "cpu")))
    assert report.verdict is Verdict.GRADER_ERROR
    assert report.message.code in code.split("|")
    assert report.staff is not None
    assert any(text in report.staff.traceback for text in cause.split("|"))
    assert report.for_student().staff is None
    eventually(lambda: not stage.judges("cpu"), "for the end of the judge and its children")


def test_a_missing_or_wrong_blob_is_a_grader_error(stage: Stage) -> None:
    missing = stage.send(stage.job("never seen", "cpu", known=False))
    wrong = stage.job("what was promised", "cpu", known=False)
    stage.server.blobs[wrong.files[0].sha256] = b"what was sent!!!!"
    stage.send(wrong)
    no_archive = b"neither zip nor tar"
    stage.server.blobs[hashlib.sha256(no_archive).hexdigest()] = no_archive
    broken = stage.send(stage.job("pass", "cpu", bundle=hashlib.sha256(no_archive).hexdigest()))
    for job, code, cause in (
        (missing, "blob_unavailable", "HTTP 404"),
        (wrong, "blob_unavailable", "digest"),
        (broken, "bundle_unusable", "not a bundle"),
    ):
        report = stage.report(job)
        assert report.message.code == code
        assert report.staff is not None
        assert cause in report.staff.traceback


def test_what_must_not_run_is_dropped(stage: Stage) -> None:
    late = stage.send(stage.job("pass", "cpu", deadline=time.time() - 1))
    stale = stage.job("pass", "cpu")
    stage.server.stale.add(stale.token)
    stage.send(stale)
    for nonsense in ("{", '{"version": 99}', "[" * 100_000, 7, None):
        stage.app.send_task(GRADE_TASK, args=[nonsense], queue=grade_queue("cpu"))
    stage.app.send_task(GRADE_TASK, args=[], queue=grade_queue("cpu"))
    stage.report(stage.send(stage.job("pass", "cpu")))
    eventually(lambda: stage.waiting("cpu") == 0, "for the acknowledgements")
    assert not {late.token, stale.token} & {read(Report, text).token for text in stage.sent()}


JUNK: tuple[str | bytes, ...] = (
    "", "not json", "[]", "{}", "null", '"x"', "9" * 5000, b"\xff", "[" * 100_000, "x" * (4 << 20),
    json.dumps({"body": "x", "headers": {}, "properties": {}}),
    json.dumps({"body": "x", "headers": {}, "properties": {"delivery_tag": "junk"}}),
)  # fmt: skip
"""Items of a queue that are no messages."""


def _message(body: Any, **changes: Any) -> str:
    """A message for the task as kombu writes it, with some of its parts replaced."""
    text = body if isinstance(body, str) else base64.b64encode(json.dumps(body).encode()).decode()
    info = {"exchange": "", "routing_key": grade_queue("junk")}
    properties = {
        "delivery_tag": os.urandom(8).hex(), "delivery_info": info, "body_encoding": "base64",
        "delivery_mode": 2, "priority": 0, "reply_to": "x", "correlation_id": "x",
    }  # fmt: skip
    headers = {"task": GRADE_TASK, "id": os.urandom(8).hex(), "lang": "py", "argsrepr": "", "kwargsrepr": ""}
    given = changes.get("headers", {})
    return json.dumps(
        {
            "body": text,
            "content-encoding": changes.get("encoding", "utf-8"),
            "content-type": changes.get("kind", "application/json"),
            "headers": {**headers, **given} if isinstance(given, dict) else given,
            "properties": {**properties, **changes.get("properties", {})},
        }
    )


def _odd_messages() -> Iterator[str]:
    embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    pickled = base64.b64encode(pickle.dumps([["x"], {}, embed])).decode()
    yield _message(pickled, kind="application/x-python-serialize", encoding="binary")
    yield _message([["{}"], {}, embed], kind="application/x-yaml")
    yield _message([["{}"], {}, embed], kind="no/such-type")
    yield _message([["{}"], {}, embed], kind=7, encoding=["x"])
    yield _message([["{}"], {}, embed], encoding="no-such-codec")
    deep, no_text = (base64.b64encode(data).decode() for data in (b"[" * 100_000, b"\xff"))
    bodies: tuple[Any, ...] = (
        "", "!", "e30=", deep, no_text, [], {}, None, 7, [7], [[], {}], [[], [], []], ["x", "y", "z"],
        [["{}"], {"extra": 1}, embed],
    )  # fmt: skip
    for body in bodies:
        yield _message(body)
    yield _message([["{}", "{}"], {}, embed])
    yield _message([["x" * (4 << 20)], {}, embed])
    yield _message([["{}"], {}, {"callbacks": 7, "errbacks": "x", "chain": [7], "chord": 7}])
    no_headers: tuple[Any, ...] = (7, None, [], "x")
    for headers in no_headers:
        yield _message([["{}"], {}, embed], headers=headers)
    for name, value in (
        ("task", None), ("task", []), ("task", "no.such.task"), ("id", None), ("id", []), ("eta", "soon"),
        ("eta", 7), ("expires", "never"), ("expires", []), ("retries", "x"), ("timelimit", "x"),
        ("timelimit", ["x", []]), ("argsrepr", {}), ("shadow", 7), ("group", []), ("parent_id", {}),
    ):  # fmt: skip
        yield _message([["{}"], {}, embed], headers={name: value})
    for name, value in (
        ("delivery_tag", None), ("delivery_tag", []), ("delivery_tag", {}), ("delivery_tag", 7),
        ("delivery_info", None), ("delivery_info", 7), ("body_encoding", "x"), ("body_encoding", 7),
        ("priority", "x"), ("correlation_id", []), ("reply_to", 7),
    ):  # fmt: skip
        yield _message([["{}"], {}, embed], properties={name: value})


def test_nothing_in_its_queue_stops_a_worker(stage: Stage) -> None:
    worker = stage.worker("node-5", "junk")
    before = stage.send(stage.job("pass", "junk"))
    stage.report(before)
    queue = grade_queue("junk")
    odd = [*JUNK, *_odd_messages()]
    for item in odd:
        stage.broker.lpush(queue, item)
    stage.broker.publish("/0.celery.pidbox", "not json")
    stage.app.control.shutdown()  # What anybody on the broker may say: nobody steers workers that way.
    after = stage.send(stage.job("pass", "junk"))
    assert stage.report(after).verdict is Verdict.ACCEPTED
    assert worker.poll() is None
    eventually(lambda: stage.waiting("junk") == 0, "for every message to be dealt with")
    log = (stage.folder / "node-5.log").read_text()
    assert "Restoring" not in log
    assert log.count("message dropped") + log.count("message rejected") >= len(JUNK)
    assert len(log) < 1 << 20, "what is refused must not fill the disk"


def test_a_cancelled_job_ends_without_a_report(stage: Stage) -> None:
    job = stage.send(stage.job("sleep 3", "cpu"))
    eventually(lambda: len(stage.events(job)) == 3)
    stage.broker.set(cancel_key(job.token), 1)
    eventually(lambda: not stage.judges("cpu"), "for the end of the judge")
    eventually(lambda: stage.waiting("cpu") == 0, "for the acknowledgement")
    assert job.token not in {read(Report, text).token for text in stage.sent()}


def test_a_report_stays_on_disk_until_the_server_has_stored_it(stage: Stage) -> None:
    job = stage.send(stage.job("pass", "cpu"))
    stage.report(job)
    spool = stage.folder / "node" / "spool" / "node-1"
    text = next(text for text in stage.sent() if job.token in text)
    assert text in {path.read_text() for path in spool.iterdir()}
    stage.broker.set(stored_key(hashlib.sha256(text.encode()).hexdigest()), 1)
    eventually(lambda: text not in {path.read_text() for path in spool.iterdir()}, "for the spool")


def test_a_killed_worker_leaves_nothing_for_the_next_job_and_sends_its_spooled_reports_when_it_is_back(
    stage: Stage,
) -> None:
    worker = stage.worker("node-2", "second")
    done = stage.send(stage.job("pass", "second"))
    stage.report(done)
    running = stage.send(stage.job("sleep 60", "second"))
    eventually(lambda: len(stage.events(running)) == 3)
    worker.kill()
    worker.wait()
    eventually(lambda: len(stage.judges("second")) == 1, "for the end of the judge: its child alone lives on")
    sent = [text for text in stage.sent() if done.token in text]
    stage.worker("node-2", "second")
    eventually(lambda: [t for t in stage.sent() if done.token in t] == 2 * sent, "for the second sending")
    stage.report(stage.send(stage.job("pass", "second")))
    assert not stage.judges("second")


def test_sigterm_lets_a_job_finish_within_its_grace_or_gives_it_back(stage: Stage) -> None:
    worker = stage.worker("node-3", "third", grace_seconds=5.0)
    job = stage.send(stage.job("sleep 1", "third"))
    eventually(lambda: len(stage.events(job)) == 3)
    worker.send_signal(signal.SIGTERM)
    assert stage.report(job).verdict is Verdict.ACCEPTED
    assert worker.wait(WAIT_SECONDS) == 0

    worker = stage.worker("node-3", "third", grace_seconds=0.5)
    job = stage.send(stage.job("sleep 60", "third"))
    eventually(lambda: len(stage.events(job)) == 3)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(WAIT_SECONDS) == 0
    assert stage.server.returned == [job.token]
    assert stage.server.heartbeats[-1]["state"] in {"draining", "active"}
    assert any(b["worker"] == "node-3" and b["state"] == "draining" for b in stage.server.heartbeats)


def test_two_workers_of_a_node_do_not_use_its_hardware_at_once(stage: Stage) -> None:
    first, second = (stage.worker(f"node-{name}", "shared") for name in "ab")
    jobs = [stage.send(stage.job("sleep 1", "shared")) for _ in range(2)]
    reports = sorted((stage.report(job) for job in jobs), key=lambda report: report.started)
    assert {report.environment.node for report in reports} == {"node-a", "node-b"}
    # The stand-in's start is when it reports: the second cannot have begun before the first was done.
    assert reports[1].started - reports[0].started >= 1.0
    assert first.poll() is None
    assert second.poll() is None


def test_a_worker_with_an_unknown_token_does_not_start(stage: Stage) -> None:
    worker = stage.worker("node-4", "fourth", token="unknown")
    assert worker.wait(WAIT_SECONDS) == 1
    assert "does not accept" in (stage.folder / "node-4.log").read_text()


def test_settings_name_what_is_missing_and_refuse_the_plain_sandbox(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"SOLMARK_BROKER_URL, SOLMARK_NODE_TOKEN"):
        NodeSettings.from_environment({"SOLMARK_SERVER_URL": "http://127.0.0.1"})
    token = tmp_path / "token"
    token.write_text("from-a-file\n")
    environment = {
        "SOLMARK_BROKER_URL": "redis://",
        "SOLMARK_SERVER_URL": "http://127.0.0.1/",
        "SOLMARK_NODE_TOKEN": str(token),
    }
    assert NodeSettings.from_environment(environment).token == "from-a-file"
    for name in ("plain", "tin-foil"):
        with pytest.raises(SettingsError, match=f"SOLMARK_SANDBOX.*{name}"):
            NodeSettings.from_environment({**environment, "SOLMARK_SANDBOX": name})
    with pytest.raises(SettingsError, match="SOLMARK_GRACE_SECONDS"):
        NodeSettings.from_environment({**environment, "SOLMARK_GRACE_SECONDS": "soon"})


def test_a_judge_waits_for_each_job_and_serves_it_alone(stage: Stage) -> None:
    worker = stage.worker("node-6", "ahead", judge_ahead=True)
    served: set[int] = set()
    for says in ("who", "who", "die", "who"):
        waiting: int = eventually(
            lambda: next(iter(set(stage.judges("ahead")) - served), 0), "for the next judge"
        )
        served.add(waiting)
        report = stage.report(stage.send(stage.job(says, "ahead")))
        assert report.verdict is (Verdict.GRADER_ERROR if says == "die" else Verdict.ACCEPTED)
        assert says == "die" or report.message.en == str(waiting)
    waiting = eventually(lambda: next(iter(set(stage.judges("ahead")) - served), 0), "for the next judge")
    os.kill(waiting, signal.SIGKILL)
    assert stage.report(stage.send(stage.job("who", "ahead"))).message.en != str(waiting)
    eventually(lambda: stage.judges("ahead"), "for the next judge")
    worker.terminate()
    worker.wait(WAIT_SECONDS)
    assert not stage.judges("ahead"), "a judge outlived its worker"


def test_workers_of_one_node_leave_each_others_waiting_judges_alone(stage: Stage) -> None:
    first, second = (stage.worker(name, "paired", judge_ahead=True) for name in ("node-7", "node-8"))
    eventually(lambda: len(stage.judges("paired")) == 2, "for a judge of each")
    waiting = {str(pid) for pid in stage.judges("paired")}
    reports = [stage.report(stage.send(stage.job("who", "paired"))) for _ in range(2)]
    assert reports[0].message.en in waiting
    assert {report.verdict for report in reports} == {Verdict.ACCEPTED}
    for worker in (first, second):
        worker.kill()
        worker.wait(WAIT_SECONDS)
    eventually(lambda: not stage.judges("paired"), "for the end of the waiting judges")


def test_a_worker_that_starts_ends_what_a_killed_one_has_left_before_any_job_comes(stage: Stage) -> None:
    worker = stage.worker("node-9", "reaped")
    running = stage.send(stage.job("sleep 60", "reaped"))
    eventually(lambda: len(stage.events(running)) == 3)
    worker.kill()
    worker.wait()
    eventually(lambda: len(stage.judges("reaped")) == 1, "for the end of the judge: its child alone lives on")
    stage.worker("node-9", "reaped")
    eventually(lambda: not stage.judges("reaped"), "for the end of the orphan")


def test_a_report_stays_on_disk_whatever_happens_until_it_is_confirmed_itself(stage: Stage) -> None:
    spool = stage.folder / "node" / "spool" / "node-10"

    def kept() -> set[str]:
        return {path.read_text() for path in spool.glob("*.json")}

    def looks() -> list[int]:
        """How many Reports the worker said that it keeps, each time that it said so."""
        beats = [beat for beat in stage.server.heartbeats if beat["worker"] == "node-10"]
        return [beat["health"]["spooled_reports"] for beat in beats]

    def watch(number: int) -> None:
        """It looks a few times, with so many Reports each time."""
        before = len(looks())
        eventually(lambda: len(looks()) > before + 6, "for more heartbeats")
        assert set(looks()[before + 1 :]) == {number}

    def start() -> subprocess.Popen[bytes]:
        return stage.worker("node-10", "unheard", resend_seconds=(0.5, 1.0))

    worker = start()
    jobs = [stage.send(stage.job("pass", "unheard")) for _ in range(2)]
    for job in jobs:
        stage.report(job)
    first, second = (next(text for text in stage.sent() if job.token in text) for job in jobs)
    eventually(
        lambda: min(stage.sent().count(text) for text in (first, second)) > 4, "for more and more sendings"
    )
    assert kept() == {first, second}

    worker.kill()
    worker.wait()
    before = stage.sent().count(first)
    worker = start()
    eventually(lambda: stage.sent().count(first) > before + 2, "for the next run to send it")
    assert kept() == {first, second}

    stage.supervisor.child("broker").kill()
    watch(2)
    assert kept() == {first, second}
    stage.supervisor.watch()

    eventually(lambda: _confirm(stage, first), "for the broker")
    eventually(lambda: first not in kept(), "for the spool")
    watch(1)
    assert kept() == {second}
    assert worker.poll() is None


def _confirm(stage: Stage, text: str) -> bool:
    """The server says that it has stored that Report; False while the broker is away."""
    try:
        return bool(stage.broker.set(stored_key(hashlib.sha256(text.encode()).hexdigest()), 1))
    except redis.RedisError:
        return False
