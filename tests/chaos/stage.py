"""The processes of a chaos run: broker, web server, two dispatchers, workers; and how each of them dies."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import redis
from celery import Celery  # type: ignore[import-untyped]

from server.accounts import service as accounts
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.migrate import upgrade
from server.db.models.course import Role
from server.db.session import Database
from server.embedded import Child, Supervisor, free_port, start_broker, wait_until
from server.grading import service as grading
from server.settings import Settings
from server.tasks.publisher import celery_app
from tests.chaos.assignment import COURSE, FEW, FEW_LIMIT
from tests.chaos.databases import Postgres, Sqlite

MARK = "CHAOS_WITNESS"
"""Environment variable of every process of a run; its value lies in the run's folder."""
SECONDS: dict[str, Any] = {"lease_seconds": 5.0, "pickup_seconds": 4.0, "worker_silent_seconds": 4.0}
"""So short that a run can wait for them to run out."""
Bundles = Sequence[tuple[bytes, str]]
"""Archive and manifest of each assignment."""
DISPATCHERS = ("tasks-a", "tasks-b")
START_SECONDS = 900.0
"""A machine that stands still for minutes delays a start, and is no failure."""


class Stage:
    """A running site of real processes."""

    def __init__(
        self, folder: Path, database: Sqlite | Postgres, supervisor: Supervisor, bundles: Bundles,
        *, students: int, workers: int,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.database = database
        self.witness = folder / "witness.jsonl"
        self.witness.touch()
        os.environ[MARK] = str(self.witness)
        self._supervisor = supervisor
        self._lock = threading.Lock()
        self._down: dict[str, float] = {}
        """Name of a child -> when it may come back."""
        self.broker_url = start_broker(supervisor, folder, START_SECONDS)
        self.broker = redis.Redis.from_url(self.broker_url, socket_timeout=2.0)
        self.queue: Celery = celery_app(self.broker_url)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.settings = Settings(
            _env_file=None, server_home=folder, database_url=database.url, broker_url=self.broker_url,
            public_url=self.url, secret_key="0123456789abcdef0123456789abcdef", argon2_memory_kib=8,
            argon2_time=1, **SECONDS,
        )  # fmt: skip
        upgrade(database.url)
        names = [f"worker-{number}" for number in range(workers)]
        self.tokens, nodes = self._populate(bundles, students, names)
        self.workers = tuple(names)
        environment = {
            "SOLMARK_BROKER_URL": self.broker_url,
            "SOLMARK_DATABASE_URL": database.url,
            "SOLMARK_SERVER_HOME": str(folder),
            "SOLMARK_PUBLIC_URL": self.url,
            **{f"SOLMARK_{name.upper()}": str(value) for name, value in SECONDS.items()},
        }
        server = [sys.executable, "-m", "server.cli"]
        supervisor.start("web", [*server, "serve", "--port", str(port)], environment=environment)
        for name in DISPATCHERS:
            command = [*server, "tasks", "--beat", "--name", name]
            supervisor.start(name, command, environment=environment)
        for name in names:
            supervisor.start(
                name,
                [sys.executable, str(Path(__file__).with_name("worker.py"))],
                environment={
                    "SOLMARK_BROKER_URL": self.broker_url,
                    "SOLMARK_SERVER_URL": self.url,
                    "SOLMARK_NODE": name,
                    "SOLMARK_NODE_TOKEN": nodes[name],
                    "SOLMARK_HOME": str(folder / name),
                    "SOLMARK_HEARTBEAT_SECONDS": "0.7",
                    "SOLMARK_GRACE_SECONDS": "1.0",
                },
            )
        wait_until(self._answers, "web", supervisor, seconds=START_SECONDS)

    def _populate(
        self, bundles: Bundles, students: int, workers: Sequence[str]
    ) -> tuple[list[str], dict[str, str]]:
        """A course with its assignments; the students' API tokens, and the workers' by name."""
        blobs = BlobStore(self.settings.blob_folder)
        database = Database(self.settings.database)
        try:
            with database.begin() as session:
                admin = accounts.create_user(
                    session, self.settings, login="admin", name="Admin", password=None
                )
                course = courses.create_course(
                    session, slug=COURSE, title_en="Chaos", title_zh="混沌", timezone="UTC", by=admin
                )
                for archive, manifest in bundles:
                    courses.publish_bundle(session, blobs, course, archive, manifest, by=admin)
                few = courses.get_assignment(session, course, FEW, staff=True).assignment
                courses.set_dates(session, few, by=admin, attempt_limit=FEW_LIMIT)
                tokens = []
                for number in range(students):
                    login = f"s{number:02}"
                    user = accounts.create_user(
                        session, self.settings, login=login, name=login, password=None
                    )
                    courses.enrol(session, course, user, Role.STUDENT, by=admin)
                    scopes = ("read", "submit")
                    tokens.append(accounts.create_token(session, user, name="chaos", scopes=scopes)[1])
                return tokens, {name: grading.register_node(session, name)[1] for name in workers}
        finally:
            database.close()

    def _answers(self) -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", timeout=5.0).is_success
        return False

    def child(self, name: str) -> Child:
        """A child by name."""
        return self._supervisor.child(name)

    def kill(self, *names: str, back_after: float = 0.0) -> None:
        """SIGKILL to all of them, and nobody brings them back before so many seconds are over."""
        with self._lock:
            for name in names:
                self._down[name] = time.monotonic() + back_after
                process = self.child(name).process
                if process is not None:
                    process.kill()
            for name in names:
                self.child(name).kill()

    def stop_politely(self, name: str) -> None:
        """SIGTERM, as a deployment sends it."""
        with self._lock:
            self._down[name] = 0.0
            self.child(name).terminate()

    def lose_broker(self, back_after: float) -> None:
        """Kill the broker, and remove all that it kept."""
        self.kill("broker", back_after=back_after)
        for path in (self.folder / "broker").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def watch(self) -> None:
        """Bring back what is down, when its time has come. Raises EmbeddedError for what does not stay up."""
        with self._lock:
            now = time.monotonic()
            if any(now < at for at in self._down.values()):
                return
            for name in self._down:
                self.child(name).quick_deaths = -1  # Its death was ours.
            self._down.clear()
            self._supervisor.watch()

    def log(self, name: str) -> str:
        """All that a child wrote."""
        return (self.folder / "logs" / f"{name}.log").read_text(errors="replace")


@contextmanager
def opened(
    folder: Path,
    database: Sqlite | Postgres,
    bundles: Bundles,
    *,
    students: int,
    workers: int,
) -> Iterator[Stage]:
    """A stage; at the end all of it is stopped in order."""
    with Supervisor(folder) as supervisor:
        stage = Stage(folder, database, supervisor, bundles, students=students, workers=workers)
        try:
            yield stage
        finally:
            stage.queue.close()
            stage.broker.close()


def signal_quietly(pid: int) -> bool:
    """SIGKILL to a process that may be gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
