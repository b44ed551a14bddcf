"""Fixtures of all server tests: both databases, a course with people, an assignment, the application."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
import uvicorn
from fastapi import FastAPI

from grader import contract
from grader.assignment import load
from grader.bundle import Bundle, make
from server.accounts import service as accounts
from server.app import create_app
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.base import Base
from server.db.models import Course, Node, User
from server.db.models.course import Role
from server.db.session import Database, Job
from server.grading import service as grading
from server.settings import Settings

PASSWORD = "correct horse battery"
ASSIGNMENT = "kernels/double"
POOL = 30
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
_TOML = """
id = "kernels/double"
topics = ["1.4"]
[title]
en = "Doubling"
zh = "加倍"
[[parts]]
name = "kernel"
kind = "function"
languages = ["python", "cpp"]
[[targets]]
hardware = "cpu"
primary = true
[[targets]]
hardware = "h200"
languages = ["python"]
[[cases]]
id = "tiny"
part = "kernel"
role = "test"
params = { n = 5 }
[cases.tolerance."*"]
worst_row = 1e-6
mean_row = 1e-6
worst_element = 1e-5
[[cases]]
id = "large"
part = "kernel"
role = "timed"
params = { n = 4096 }
[cases.tolerance."*"]
worst_row = 1e-6
mean_row = 1e-6
worst_element = 1e-5
"""
_HIDDEN = """
[[cases]]
id = "secret"
part = "kernel"
role = "test"
params = { n = { range = [7, 900] } }
[cases.tolerance."*"]
worst_row = 1e-6
mean_row = 1e-6
worst_element = 1e-5
"""
_TASK = """
from grader import fills
from grader.task import Cost, FunctionTask, Tensor


def _fill(params, slots, seeds):
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["x"], seed, "x", -1.0, 1.0)


PARTS = {
    "kernel": FunctionTask(
        tensors=lambda p: [Tensor("x", "float32", (p["n"],), "in"), Tensor("y", "float32", (p["n"],), "out")],
        fill=_fill,
        oracle=lambda p, inputs: {"y": inputs["x"].double() * 2},
        cost=lambda p: Cost({"fp32": p["n"]}, 8.0 * p["n"]),
    )
}
"""
SOLUTION = b"def solve(x, y):\n    y.copy_(x * 2)\n"


def _write(folder: Path, **changes: str) -> Path:
    files = {
        "assignment.toml": _TOML,
        "task.py": _TASK,
        "README.md": "# Doubling\n",
        "README.zh.md": "# 加倍\n",
        "starter/solution.py": "def solve(x, y):\n    ...\n",
        "hidden/cases.toml": _HIDDEN,
    } | changes
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return folder


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return make(load(_write(tmp_path_factory.mktemp("bundle") / "double")))


@pytest.fixture(scope="session")
def changed_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The same assignment with another text: a later version."""
    folder = _write(tmp_path_factory.mktemp("changed") / "double", **{"README.md": "# Doubling again\n"})
    return make(load(folder))


@pytest.fixture(scope="session")
def opened() -> Iterator[Callable[[str], Database]]:
    """Opens each database once: statements stay compiled and connections open from test to test."""
    databases: dict[str, Database] = {}

    def open_once(url: str) -> Database:
        if url not in databases:
            databases[url] = Database(url, pool=POOL)
        return databases[url]

    yield open_once
    for found in databases.values():
        found.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, opened: Callable[[str], Database]) -> str:
    """A migrated database of each kind, without a row in it."""
    name = "postgres_migrated" if request.param == "postgresql" else "sqlite_migrated"
    url: str = request.getfixturevalue(name)
    with opened(url).writer.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
    return url


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(
        _env_file=None,
        server_home=tmp_path,
        database_url=database_url,
        database_pool=POOL,
        secret_key="0123456789abcdef0123456789abcdef",
        public_url="http://testserver",
        argon2_memory_kib=8,
        argon2_time=1,
    )


@pytest.fixture
def jobs() -> list[Job]:
    """What was published, in order."""
    return []


@pytest.fixture
def database(settings: Settings, jobs: list[Job], opened: Callable[[str], Database]) -> Database:
    found = opened(settings.database)
    found.publish = jobs.append
    return found


@pytest.fixture
def blobs(settings: Settings) -> BlobStore:
    return BlobStore(settings.blob_folder)


@pytest.fixture(scope="session", autouse=True)
def _plain_log() -> None:
    """Warnings only, on one line: drawing tracebacks would take seconds."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
    )


@dataclass(frozen=True)
class World:
    """A course with an admin, a TA and two students; one published assignment; one node."""

    course: Course
    admin: User
    ta: User
    ann: User
    bob: User
    node: Node
    node_token: str
    digest: str


@cache
def _people() -> Mapping[str, Role]:
    return {"admin": Role.ADMIN, "ta": Role.TA, "ann": Role.STUDENT, "bob": Role.STUDENT}


@pytest.fixture
def world(database: Database, blobs: BlobStore, settings: Settings, bundle: Bundle) -> World:
    with database.begin() as session:
        users = {
            login: accounts.create_user(
                session,
                settings,
                login=login,
                name=login.title(),
                password=PASSWORD,
                site_admin=login == "admin",
            )
            for login in _people()
        }
        course = courses.create_course(
            session,
            slug="demo",
            title_en="Demo",
            title_zh="演示",
            timezone="Asia/Shanghai",
            by=users["admin"],
        )
        for login, role in _people().items():
            courses.enrol(session, course, users[login], role, by=users["admin"])
        version = courses.publish_bundle(
            session, blobs, course, bundle.archive, bundle.manifest.model_dump_json(), by=users["admin"]
        )
        node, token = grading.register_node(session, "node-1")
        return World(course=course, **users, node=node, node_token=token, digest=version.digest)


@pytest.fixture
def app(settings: Settings, database: Database) -> FastAPI:
    return create_app(settings, database=database)


@pytest.fixture
def client(app: FastAPI, world: World) -> Iterator[httpx.Client]:
    """The application over real HTTP, as nobody in particular."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=30) as opened:
            yield opened
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture
def token(database: Database, world: World) -> Callable[..., dict[str, str]]:
    """Headers with a fresh API token of the person with that login."""

    def headers(login: str, *scopes: str) -> dict[str, str]:
        with database.begin() as session:
            user = accounts.find_user(session, login)
            assert user is not None
            chosen = scopes or ("read", "submit", "staff")
            _, secret = accounts.create_token(session, user, name="test", scopes=chosen)
        return {"Authorization": f"Bearer {secret}"}

    return headers


_SCORE = contract.Score(fraction=0.5, low=0.49, high=0.51, points=70.0, ranked=True)


def make_report(spec: contract.JobSpec, **changes: Any) -> contract.Report:
    """An accepted Report for a job, with hidden detail; `changes` replace its fields."""
    verdict = changes.get("verdict", contract.Verdict.ACCEPTED)
    accepted = verdict is contract.Verdict.ACCEPTED
    values: dict[str, Any] = {
        "submission": spec.submission,
        "attempt": spec.attempt,
        "token": spec.token,
        "mode": spec.mode,
        "assignment": spec.assignment,
        "bundle": spec.bundle,
        "language": spec.language,
        "target": spec.target,
        "verdict": verdict,
        "message": contract.Text(code=verdict.value, en="A sentence.", zh="一句话。"),
        "started": NOW.timestamp(),
        "seconds": 4.0,
        "tests": (contract.TestResult(case="tiny", part="kernel", verdict=verdict, seconds=0.1),),
        "hidden": contract.HiddenResult(passed=accepted, cases=1),
        "timed": (
            contract.TimedResult(
                case="large",
                part="kernel",
                verdict=contract.Verdict.ACCEPTED,
                fraction=0.5,
                measure=contract.Measure(
                    quantity="time", unit="s", better="lower", value=2e-5, low=1.9e-5, high=2.1e-5
                ),
            ),
        ),
        "score": _SCORE if accepted else None,
        "environment": contract.Environment(
            judge_version="0.1.0", hardware="cpu", hardware_name="Some CPU", sandbox="bubblewrap",
            freezer="cgroup2", node="node-1",
        ),
        "staff": contract.StaffDetail(
            seed="00ff", hidden=(contract.TestResult(case="secret", part="kernel", verdict=verdict),)
        ),
        "evidence": (contract.Evidence(kind="overlap"),),
    }  # fmt: skip
    return contract.Report(**values | changes)


@dataclass
class Grader:
    """Plays dispatcher and worker on the service layer, without a queue; time is what `now` says."""

    database: Database
    settings: Settings
    world: World
    now: datetime = NOW

    def report(self, spec: contract.JobSpec, **changes: Any) -> contract.Report:
        return make_report(spec, **changes)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def beat(
        self, *, worker: str = "w1", hardware: str = "cpu", token: str | None = None
    ) -> grading.Heartbeat:
        with self.database.begin() as session:
            node = session.get_one(Node, self.world.node.id)
            return grading.heartbeat(
                session, self.settings, node=node, worker=worker, hardware=hardware, versions={}, token=token,
                now=self.now,
            )  # fmt: skip

    def dispatch(self) -> list[contract.JobSpec]:
        with self.database.begin() as session:
            return grading.dispatch(session, self.settings, now=self.now)

    def claim(self, spec: contract.JobSpec, *, worker: str = "w1") -> None:
        with self.database.begin() as session:
            node = session.get_one(Node, self.world.node.id)
            grading.claim(session, self.settings, token=spec.token, node=node, worker=worker, now=self.now)

    def send(self, report: contract.Report | bytes | str) -> grading.Stored:
        raw = report.model_dump_json() if isinstance(report, contract.Report) else report
        with self.database.begin() as session:
            return grading.store_report(session, self.settings, raw, now=self.now)

    def sweep(self) -> grading.Sweep:
        with self.database.begin() as session:
            return grading.sweep(session, self.settings, now=self.now)

    def grade(self, **changes: Any) -> contract.JobSpec:
        """Dispatch the one submission that waits, claim it, and report on it."""
        self.beat()
        (spec,) = self.dispatch()
        self.claim(spec)
        stored = self.send(make_report(spec, **changes))
        assert stored.outcome == "stored", stored
        return spec


@pytest.fixture
def grader(database: Database, settings: Settings, world: World) -> Grader:
    return Grader(database, settings, world)


@pytest.fixture
def submit(database: Database, blobs: BlobStore, settings: Settings, world: World) -> Callable[..., str]:
    """Hands in a solution as a person of the world and returns its public id."""
    from server.submissions import service

    def create(login: str = "ann", *, now: datetime = NOW, **options: Any) -> str:
        with database.begin() as session:
            user = getattr(world, login)
            files = options.pop("files", {"solution.py": SOLUTION})
            course = courses.get_course(session, "demo")
            found = service.create(
                session, blobs, settings, user=session.get_one(User, user.id), course=course,
                name=ASSIGNMENT, files=files, now=now, **options,
            )  # fmt: skip
            return found.public_id

    return create
