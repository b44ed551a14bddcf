"""A site with people, a course and submissions of every kind, for tests of pages and of the client."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI

from grader import bundle, contract
from grader.assignment import load
from grader.contract import Phase, Verdict
from grader.transcript import Recorder
from server.accounts import service as accounts
from server.app import create_app
from server.courses import service as courses
from server.db.models.course import Role
from server.db.session import Database
from server.grading import service as grading
from server.settings import Settings
from server.submissions import service as submissions

PASSWORD = "correct horse battery"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ASSIGNMENT = "kernels/double"
ADDRESS = f"/courses/demo/assignments/{ASSIGNMENT}"
SAID = {"ask": "double", "message": EVIL}
SOLUTION = "def solve(x, y):\n    y.copy_(x * 2)  # as asked\n"
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
[targets.limits]
memory_bytes = 1073741824
wall_seconds = 90.0
[[targets.milestones]]
name = "naive"
fraction = 0.2
credit = 0.1
measurement = "made-up:naive"
[[targets.milestones]]
name = "library"
name_zh = "库函数"
fraction = 0.7
credit = 0.5
measurement = "made-up:library"
[[targets.milestones]]
name = "best"
fraction = 0.9
credit = 1.0
measurement = "made-up:best"
[[cases]]
id = "tiny"
part = "kernel"
visibility = "public"
role = "test"
params = { n = 5 }
[cases.tolerance."*"]
worst_row = 1e-6
mean_row = 1e-6
worst_element = 1e-5
[[cases]]
id = "large"
part = "kernel"
visibility = "public"
role = "timed"
params = { n = 4096 }
[cases.tolerance."*"]
worst_row = 1e-6
mean_row = 1e-6
worst_element = 1e-5
"""
_TASK = '''
"""Doubling."""
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
'''
_README = """# Doubling

Write $y_i = 2 x_i$, that is

$$\\frac{y_i}{x_i} = 2 \\qquad \\text{where } x_i \\ne 0$$

![The graph of doubling](figures/line.svg)

| name | size |
|---|--:|
| `x` | 5 |

<script>alert(3)</script>
"""
_README_ZH = _README.replace("Write", "请写出").replace("that is", "即")
_FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 9 9 0" stroke="#000"/></svg>'


@dataclass
class Site:
    """The application and the addresses of what is in it."""

    app: FastAPI
    submissions: dict[str, str] = field(default_factory=dict)
    """Kind (`accepted`, `wrong`, `build`, `queued`, ...) to public id."""

    @property
    def database(self) -> Database:
        """Its database."""
        found: Database = self.app.state.database
        return found

    @property
    def settings(self) -> Settings:
        """Its settings."""
        found: Settings = self.app.state.settings
        return found


@contextmanager
def serve(app: FastAPI, port: int = 0) -> Iterator[str]:
    """The application over real HTTP on this machine; yields its address."""
    listener = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def write_assignment(folder: Path) -> Path:
    """The folder of a small assignment with maths, a figure and a table in its text."""
    files = {
        "assignment.toml": _TOML,
        "task.py": _TASK,
        "README.md": _README,
        "README.zh.md": _README_ZH,
        "figures/line.svg": _FIGURE,
        "starter/solution.py": "def solve(x, y):\n    ...\n",
        "hidden/secret.svg": _FIGURE,
        "hidden/cases.toml": (
            '[[cases]]\nid = "odd"\npart = "kernel"\nrole = "test"\nparams = { n = { range = [1, 99] } }\n'
            '[cases.tolerance."*"]\nworst_row = 1e-6\nmean_row = 1e-6\nworst_element = 1e-5\n'
        ),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def build(folder: Path, packed: bundle.Bundle, database_url: str, **settings: Any) -> Site:
    """An application on an empty database, seeded: ada and grace (students), tara (TA), one course."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    chosen = Settings(
        server_home=folder, database_url=database_url, argon2_memory_kib=8, argon2_time=1, log_level="ERROR",
        _env_file=None, **settings,
    )  # fmt: skip
    site = Site(create_app(chosen))
    with site.database.begin() as session:
        people = {
            login: accounts.create_user(session, chosen, login=login, name=name, password=PASSWORD)
            for login, name in (
                ("ada", "Ada Lovelace"),
                ("grace", EVIL),
                ("tara", "Tara"),
                ("nobody", "Nobody"),
            )
        }
        course = courses.create_course(
            session, slug="demo", title_en="Systems & Speed", title_zh="系统与速度", timezone="Europe/Zurich",
            by=None,
        )  # fmt: skip
        for login in ("ada", "grace"):
            courses.enrol(session, course, people[login])
        courses.enrol(session, course, people["tara"], Role.TA)
        now = datetime.now(UTC)
        courses.publish_bundle(
            session, site.app.state.blobs, course, packed.archive, packed.manifest.model_dump_json(),
            by=people["tara"], opens=now - timedelta(days=1), closes=now + timedelta(days=3),
            attempt_limit=50,
        )  # fmt: skip
    for kind, login in (
        ("accepted", "ada"), ("wrong", "ada"), ("build", "ada"), ("evil", "grace"), ("second", "grace"),
        ("queued", "ada"),
    ):  # fmt: skip
        site.submissions[kind] = submit(site, login)
        if kind != "queued":
            finish(site, site.submissions[kind], kind)
    return site


def submit(site: Site, login: str) -> str:
    """Hand in as that person; returns the public id."""
    with site.database.begin() as session:
        user = accounts.find_user(session, login)
        assert user is not None
        found = submissions.create(
            session,
            site.app.state.blobs,
            site.settings,
            user=user,
            course=courses.get_course(session, "demo"),
            name=ASSIGNMENT,
            files={"solution.py": SOLUTION.encode()},
        )
        return found.public_id


def finish(site: Site, public_id: str, kind: str) -> None:
    """Let a worker's Report of that kind come in."""
    with site.database.begin() as session:
        user = accounts.find_user(session, "tara")
        assert user is not None
        attempt = grading.open_attempt(session, site.settings, submissions.get(session, public_id, user))
        job = grading.job_spec(attempt)
        stored = grading.store_report(session, site.settings, report(job, kind).model_dump_json())
        assert stored.outcome == "stored", stored.text


def report(job: contract.JobSpec, kind: str) -> contract.Report:
    """A Report as a judge would write it: accepted, wrong, build error, hostile."""
    verdict = {
        "wrong": Verdict.WRONG_ANSWER, "evil": Verdict.WRONG_ANSWER, "build": Verdict.BUILD_ERROR,
    }.get(kind, Verdict.ACCEPTED)  # fmt: skip
    accepted = verdict is Verdict.ACCEPTED
    text = EVIL if kind == "evil" else "All tests passed." if accepted else "Element 3 is not doubled."
    message = contract.Text(code="test", en=text, zh=EVIL if kind == "evil" else "第 3 个元素没有加倍。")
    fraction = 0.61 if kind == "accepted" else 0.607
    return contract.Report(
        submission=job.submission,
        attempt=job.attempt,
        token=job.token,
        mode=job.mode,
        assignment=job.assignment,
        bundle=job.bundle,
        language=contract.Language.PYTHON,
        target=job.target,
        verdict=verdict,
        message=message,
        started=time.time(),
        seconds=9.0,
        phases=tuple(
            contract.PhaseTime(phase=phase, seconds=seconds)
            for phase, seconds in ((Phase.BUILD, 2.0), (Phase.PUBLIC, 1.5), (Phase.TIMED, 4.0))
        ),
        build=contract.BuildResult(
            language=contract.Language.PYTHON, log=EVIL if kind in ("build", "evil") else "", seconds=2.0
        ),
        tests=() if kind == "build" else _tests(verdict, message, evil=kind == "evil"),
        hidden=contract.HiddenResult(passed=True if accepted else None, cases=4),
        timed=_timed(fraction) if accepted else (),
        score=_score(fraction) if accepted else None,
        evidence=(contract.Evidence(kind="probe", text="seen by staff only"),),
        environment=contract.Environment(
            judge_version="1", hardware="cpu", hardware_name="A test machine", sandbox="plain", freezer="none"
        ),
        staff=contract.StaffDetail(seed="5eed" * 8, replay="solmark grade --seed 5eed"),
    )


def _tests(verdict: Verdict, message: contract.Text, *, evil: bool) -> tuple[contract.TestResult, ...]:
    if verdict is Verdict.ACCEPTED:
        wrong = None
    else:
        value = EVIL[:64] if evil else "6.0"
        wrong = contract.FirstWrong(output="y", index=(3,), expected=value, found="3.0")
    shapes = {"x": "float32[5]", EVIL[:32] if evil else "y": "float32[5]"}
    return (
        contract.TestResult(
            case="tiny", part="kernel", verdict=verdict, message=message, shapes=shapes, first_wrong=wrong,
            stdout=EVIL if evil else "", stderr=EVIL if evil else "", seconds=0.012, transcript=_said(),
        ),
        contract.TestResult(
            case="large", part="kernel", verdict=None if wrong else verdict, message=message, shapes=shapes
        ),
    )  # fmt: skip


def _said() -> str:
    """A transcript as a Report carries it."""
    recorder = Recorder()
    recorder.note(SAID)
    return recorder.packed()


def _timed(fraction: float) -> tuple[contract.TimedResult, ...]:
    results = []
    for case, bound, share in (("small", 2e-6, fraction / 2), ("large", 3e-3, min(1.0, fraction * 2))):
        value = bound / share
        measure = contract.Measure(
            quantity="time", unit="s", better="lower", value=value, low=value * 0.99, high=value * 1.01,
            bound=bound, bound_by="dram",
        )  # fmt: skip
        results.append(
            contract.TimedResult(
                case=case, part="kernel", verdict=Verdict.ACCEPTED, measure=measure, fraction=share,
                fraction_low=share * 0.99, fraction_high=min(1.0, share * 1.01), calls=64,
                rounds=tuple(value * (1 + index % 5 / 100) for index in range(20)),
            )
        )  # fmt: skip
    return tuple(results)


def _score(fraction: float) -> contract.Score:
    return contract.Score(
        fraction=fraction, low=fraction * 0.99, high=fraction * 1.01, points=71.5, correctness_points=40.0,
        performance_points=31.5, ranked=True,
    )  # fmt: skip


def pack(folder: Path) -> bundle.Bundle:
    """The small assignment as a bundle."""
    return bundle.make(load(write_assignment(folder)))
