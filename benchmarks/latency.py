"""How long a student waits beyond the grading itself, and how fast pages answer, on a whole site of its own.

A site is started in a temporary home (broker, web server, tasks, one worker); a student submits the C++
reference of add-rmsnorm over HTTP, one after the other, and hears by the server's events, as the page does,
that it is final: asking again and again would take time of the cores on which it is graded. `seconds` is
the time from `submit` to verdict less the session's own time as the student's Report shows it: the hidden
tests, held until their mark (docs/decisions/0008), count as waiting. `platform_seconds` is the time less the
whole session. A grading that was repeated for its timing has several `sessions`, each with a hold of its own.
Then every page is asked for many times.

    python -m benchmarks.latency --output benchmarks/results/latency.cpu.json
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from benchmarks import results_schema
from grader.contract import Mode, Report, Verdict, read
from grader.hardware import profile
from grader.judge import environment
from server import publishing, site
from server.accounts import service as accounts
from server.courses import service as courses
from server.db import models
from server.db.migrate import upgrade
from server.db.models.course import Role
from server.db.session import Database
from server.demo.course import ADMIN, COURSE, seed
from server.demo.entrants import Entry
from server.demo.student import Student
from server.settings import Settings, load

ASSIGNMENT = "kernels/add-rmsnorm"
SOLUTION = Path("reference/kernels/add-rmsnorm/solution.cpp")
STUDENT = "benchmark"
CLASS = 300
"""Students of the course: the lists that staff see are as long as in a large one."""
SETTLE_SECONDS = 10.0
"""The machine is idle: the site has started, and the node has made itself ready after the job before."""
PAUSE_SECONDS = 5.0
PATIENCE_SECONDS = 300.0
PAGE_REQUESTS = 50
_COURSE = f"/courses/{COURSE}"
_ASSIGNMENT = f"{_COURSE}/assignments/{ASSIGNMENT}"
OPEN = (("login", "/login"), ("board-anonymous", f"{_ASSIGNMENT}/board"))
"""Pages that anybody sees; below those of a student, and of staff."""
OWN = (
    ("courses", "/courses"),
    ("course", _COURSE),
    ("map", f"{_COURSE}/map"),
    ("assignment", _ASSIGNMENT),
    ("submissions", f"{_COURSE}/submissions"),
    ("submission", "/submissions/{submission}"),
    ("board", f"{_ASSIGNMENT}/board"),
    ("account", "/account"),
)
STAFF = (("queue", "/staff/queue"), ("scores", f"{_COURSE}/scores"))


def main() -> int:
    """Measure and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--submissions", type=int, default=10, help="in mode test")
    parser.add_argument("--gradings", type=int, default=3, help="in mode grade")
    options = parser.parse_args()
    hardware = profile.load("cpu")
    if hardware.calibrated is None:
        print("run `solmark calibrate` first", file=sys.stderr)
        return 3
    with kept_on_failure() as home:
        rows = measure(home, {Mode.TEST: options.submissions, Mode.GRADE: options.gradings})
    head = results_schema.header(
        "python -m benchmarks.latency --output benchmarks/results/latency.cpu.json",
        device=hardware.name,
        judge_version=environment.judge_version(),
    )
    results_schema.write(options.output, results_schema.ResultsFile.model_validate({**head, "rows": rows}))
    return 0


@contextmanager
def kept_on_failure() -> Iterator[Path]:
    """A temporary home of a site; it stays, with its logs and its database, where the measuring fails."""
    home = Path(tempfile.mkdtemp(prefix="solmark-latency-"))
    try:
        yield home
    except BaseException:
        print(f"the site's home stays for a look: {home}", file=sys.stderr)
        raise
    shutil.rmtree(home)


def measure(home: Path, counts: Mapping[Mode, int]) -> list[dict[str, Any]]:
    """Rows of the results file: one a mode, one a page."""
    settings = load().model_copy(update={"server_home": home, "broker_url": "", "database_url": ""})
    upgrade(settings.database)
    database = Database(settings.database)
    try:
        passwords = seed(database, settings, [STUDENT])
        fill_class(database, settings)
        publishing.publish(database, settings, COURSE, f"assignments/{ASSIGNMENT}", by=ADMIN)
        with site.running(settings, host="127.0.0.1", port=None) as running:
            time.sleep(SETTLE_SECONDS)
            with Student(running.url, STUDENT, passwords[STUDENT]) as student:
                rows = [submit(student, database, mode, count) for mode, count in counts.items()]
                submission = rows[-1].pop("last_submission")
            for login, pages in (("", OPEN), (STUDENT, OWN), (ADMIN, STAFF)):
                with httpx.Client(base_url=running.url, timeout=30.0) as client:
                    if login:
                        log_in(client, login, passwords[login])
                    rows += [page(client, name, path.format(submission=submission)) for name, path in pages]
        for row in rows:
            row.pop("last_submission", None)
        return rows
    finally:
        database.close()


def fill_class(database: Database, settings: Settings) -> None:
    """So many students more that the course has CLASS; they never log in."""
    with database.begin() as session:
        course = courses.get_course(session, COURSE)
        for number in range(CLASS - 1):
            name = f"student-{number}"
            user = accounts.create_user(session, settings, login=name, name=name, password=None)
            courses.enrol(session, course, user, Role.STUDENT, by=None)


def submit(student: Student, database: Database, mode: Mode, count: int) -> dict[str, Any]:
    """Submissions one after the other; `seconds` is what the student waits beyond the session's own time."""
    entry = Entry(ASSIGNMENT, SOLUTION, Verdict.ACCEPTED, None, {SOLUTION.name: SOLUTION}, STUDENT)
    samples: dict[str, list[float]] = {
        name: []
        for name in ("seconds", "session_seconds", "platform_seconds", "whole_session_seconds", "sessions")
    }
    last = ""
    for _ in range(count):
        time.sleep(PAUSE_SECONDS)
        begin = time.monotonic()
        one = student.submit(entry, mode)
        student.follow(one.found["id"], seconds=PATIENCE_SECONDS)
        total = time.monotonic() - begin
        one.look()
        if one.found["verdict"] not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING):
            raise SystemExit(f"{one.found['id']} is {one.found['verdict']}")
        last = one.found["id"]
        reports = sessions(database, last)
        shown = sum(report.for_student().seconds for report in reports)
        whole = sum(report.seconds for report in reports)
        print(
            f"{mode.value}: {total:.2f} s, session {shown:.2f} s (with hidden tests {whole:.2f} s), "
            f"{one.found['verdict']} after {len(reports)} sessions",
            flush=True,
        )
        found = (total - shown, shown, total - whole, whole, float(len(reports)))
        for name, value in zip(samples, found, strict=True):
            samples[name].append(value)
    return {
        "id": f"submit-to-verdict/{mode.value}",
        "submissions": count,
        **{name: statistics.median(values) for name, values in samples.items()},
        "cv": results_schema.cv(samples["seconds"]),
        "seconds_max": max(samples["seconds"]),
        "platform_seconds_max": max(samples["platform_seconds"]),
        "samples": samples,
        "last_submission": last,
    }


def sessions(database: Database, submission: str) -> list[Report]:
    """The Reports of all attempts at a submission."""
    query = (
        select(models.Report.body)
        .join(models.Submission, models.Submission.id == models.Report.submission_id)
        .where(models.Submission.public_id == submission)
    )
    with database.read() as session:
        return [read(Report, body) for body in session.scalars(query)]


def log_in(client: httpx.Client, login: str, password: str) -> None:
    """A cookie session, by the form that people use."""
    form = {"form_token": "", "next": "/", "login": login, "password": password}
    done = client.post("/login", data=form, headers={"Origin": str(client.base_url).rstrip("/")})
    if done.status_code != 303:
        raise SystemExit(f"cannot log in: {done.status_code}")


def page(client: httpx.Client, name: str, path: str) -> dict[str, Any]:
    """One page, asked for again and again over one connection."""
    times = []
    for _ in range(PAGE_REQUESTS):
        begin = time.monotonic()
        response = client.get(path)
        times.append(time.monotonic() - begin)
        if response.status_code != 200:
            raise SystemExit(f"{path}: {response.status_code}")
    print(
        f"{name}: median {statistics.median(times) * 1e3:.1f} ms, slowest {max(times) * 1e3:.1f} ms",
        flush=True,
    )
    return {
        "id": f"page/{name}",
        "requests": len(times),
        "seconds": statistics.median(times),
        "cv": results_schema.cv(times),
        "seconds_max": max(times),
        "samples": {"seconds": times},
    }


if __name__ == "__main__":
    sys.exit(main())
