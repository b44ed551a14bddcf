"""A whole site of real processes for the tests of this folder; only the judge is a stand-in."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import uvicorn
from celery import Celery  # type: ignore[import-untyped]
from sqlalchemy import create_engine, text

from grader.bundle import Bundle
from server.accounts import service as accounts
from server.app import create_app
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.base import Base
from server.db.migrate import upgrade
from server.db.session import Database
from server.embedded import Supervisor, start_broker
from server.grading import service as grading
from server.settings import Settings
from server.tasks.publisher import celery_app, publisher

GRADER_TESTS = Path(__file__).parents[2] / "grader"
WAIT_SECONDS = 40.0
SECONDS: dict[str, Any] = {"lease_seconds": 3.0, "pickup_seconds": 3.0, "worker_silent_seconds": 3.0}
"""So short that a test can wait for them to run out."""


def eventually(condition: Callable[[], Any], what: str = "") -> Any:
    """Wait until the condition holds; its value."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain {what}"
        time.sleep(0.05)
    return found


class Stage:
    """The site: web server in a thread, broker, tasks and workers as processes, and a student's client."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        bundle: Bundle,
        supervisor: Supervisor,
        seconds: Mapping[str, Any] = SECONDS,
    ) -> None:
        self.folder = folder
        self.supervisor = supervisor
        self.broker_url = start_broker(supervisor, folder)
        self.broker_child = supervisor.child("broker")
        self.broker = redis.Redis.from_url(self.broker_url)
        self.settings = Settings(
            _env_file=None,
            server_home=folder,
            database_url=database_url,
            broker_url=self.broker_url,
            secret_key="0123456789abcdef0123456789abcdef",
            argon2_memory_kib=8,
            argon2_time=1,
            **seconds,
        )
        self.queue: Celery = celery_app(self.broker_url)
        self.database = Database(database_url, publish=publisher(self.queue))
        self.node_token, secret = self._populate(bundle)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        app = create_app(self.settings, database=self.database)
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]})
        self._thread.start()
        self.student = httpx.Client(
            base_url=f"{self.url}/api/v1/", headers={"Authorization": f"Bearer {secret}"}, timeout=30.0
        )
        self._workers: list[subprocess.Popen[bytes]] = []
        environment = {
            "SOLMARK_BROKER_URL": self.broker_url,
            "SOLMARK_DATABASE_URL": database_url,
            "SOLMARK_SERVER_HOME": str(folder),
            **{f"SOLMARK_{name.upper()}": str(value) for name, value in seconds.items()},
        }
        command = [sys.executable, "-m", "server.cli", "tasks", "--beat"]
        self.tasks = supervisor.start("tasks", command, environment=environment)

    def _populate(self, bundle: Bundle) -> tuple[str, str]:
        blobs = BlobStore(self.settings.blob_folder)
        with self.database.begin() as session:
            ann = accounts.create_user(
                session, self.settings, login="ann", name="Ann", password="correct horse battery"
            )
            course = courses.create_course(
                session, slug="demo", title_en="Demo", title_zh="演示", timezone="UTC", by=ann
            )
            courses.publish_bundle(
                session, blobs, course, bundle.archive, bundle.manifest.model_dump_json(), by=ann
            )
            _, secret = accounts.create_token(session, ann, name="test", scopes=("read", "submit"))
            return grading.register_node(session, "node")[1], secret

    def worker(
        self, name: str, program: Path = GRADER_TESTS / "worker_process.py", **changes: Any
    ) -> subprocess.Popen[bytes]:
        """A worker process with the stand-in for its judge; `changes` are settings of the node."""
        values = {
            "broker_url": self.broker_url, "server_url": self.url, "token": self.node_token, "node": name,
            "hardware": "cpu", "home": str(self.folder / name), "heartbeat_seconds": 0.5,
            "judge_command": [sys.executable, str(GRADER_TESTS / "fake_judge.py")],
            "judge_ahead": False, **changes,
        }  # fmt: skip
        command = [sys.executable, str(program), json.dumps(values)]
        with (self.folder / f"{name}.log").open("ab") as log:
            worker = subprocess.Popen(command, stdout=log, stderr=log)
        self._workers.append(worker)
        return worker

    def submit(self, says: str) -> str:
        """Hand in what the stand-in shall do; the submission's id."""
        path = "courses/demo/assignments/kernels/double/submissions"
        answer = self.student.post(path, json={"files": {"solution.py": says}, "mode": "grade"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def look(self, submission: str) -> dict[str, Any]:
        found: dict[str, Any] = self.student.get(f"submissions/{submission}").json()
        return found

    def wait_for(self, submission: str, *states: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            found = self.look(submission)
            return found if found["state"] in states else None

        found: dict[str, Any] = eventually(reached, f"for {submission} to be {states}")
        return found

    def events(self, submission: str, last: str = "", count: int = 1000) -> list[tuple[str, str, Any]]:
        """The first server-sent events: (id, name, data); fewer if the stream ends."""
        found: list[tuple[str, str, Any]] = []
        headers = {"Last-Event-ID": last} if last else {}
        with self.student.stream("GET", f"submissions/{submission}/events", headers=headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                if line:
                    key, _, value = line.partition(": ")
                    fields[key] = value
                    continue
                if "data" in fields:
                    found.append((fields.get("id", ""), fields["event"], json.loads(fields["data"])))
                fields = {}
                if len(found) == count:
                    break
        return found

    def kill_workers(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._workers.clear()

    def waiting(self, queue: str) -> int:
        """Messages in the queue, and taken from it but not acknowledged."""
        taken: Any = self.broker.hvals("unacked")
        untaken: int = self.broker.llen(queue)
        return untaken + sum(1 for message in taken if json.loads(message)[2] == queue)

    def empty_broker(self) -> None:
        """Remove what a stopped broker kept on disk."""
        for path in (self.folder / "broker").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def close(self) -> None:
        self.kill_workers()
        self.student.close()
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
        self.database.close()
        self.queue.close()
        self.broker.close()


@pytest.fixture(name="eventually")
def _eventually() -> Callable[..., Any]:
    return eventually


@contextmanager
def _opened(
    folder: Path, database_url: str, bundle: Bundle, seconds: Mapping[str, Any] = SECONDS
) -> Iterator[Stage]:
    with Supervisor(folder) as supervisor:
        stage = Stage(folder, database_url, bundle, supervisor, seconds)
        try:
            yield stage
        finally:
            stage.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, bundle: Bundle) -> Iterator[Stage]:
    """The site of a module, on SQLite, with one worker."""
    folder = tmp_path_factory.mktemp("stage")
    url = f"sqlite:///{folder / 'solmark.db'}"
    upgrade(url)
    with _opened(folder, url, bundle) as opened:
        opened.worker("first")
        yield opened


@pytest.fixture(scope="module")
def patient_stage(tmp_path_factory: pytest.TempPathFactory, bundle: Bundle) -> Iterator[Stage]:
    """The same without a worker, with leases that outlast a machine that stands still for a while."""
    folder = tmp_path_factory.mktemp("patient")
    url = f"sqlite:///{folder / 'solmark.db'}"
    upgrade(url)
    with _opened(folder, url, bundle, {**SECONDS, "lease_seconds": 60.0}) as opened:
        yield opened


@pytest.fixture
def postgres_stage(tmp_path: Path, postgres_migrated: str, bundle: Bundle) -> Iterator[Stage]:
    """The same on PostgreSQL."""
    engine = create_engine(postgres_migrated)
    with engine.begin() as connection:
        tables = ", ".join(table.name for table in Base.metadata.sorted_tables)
        connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY CASCADE"))
    engine.dispose()
    with _opened(tmp_path, postgres_migrated, bundle) as opened:
        opened.worker("first")
        yield opened
