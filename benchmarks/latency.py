"""How long a student waits beyond the grading itself, and how fast pages answer, on a whole site of its own.

A site is started in a temporary home (broker, web server, tasks, one worker); a student submits the C++
reference of add-rmsnorm over HTTP, one after the other, asking for the state until it is final. From `submit`
to verdict less the session's own time (`seconds` of its Report) is the platform's share. Then every page is
asked for many times.

    python -m benchmarks.latency --output benchmarks/results/latency.cpu.json
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks import results_schema
from grader.contract import Mode, Verdict
from grader.hardware import profile
from server import publishing, site
from server.accounts import service as accounts
from server.courses import service as courses
from server.db.migrate import upgrade
from server.db.models.course import Role
from server.db.session import Database
from server.demo.course import ADMIN, COURSE, seed
from server.demo.entrants import Entry
from server.demo.student import Student, Submitted
from server.settings import Settings, load

ASSIGNMENT = "kernels/add-rmsnorm"
SOLUTION = Path("reference/kernels/add-rmsnorm/solution.cpp")
STUDENT = "benchmark"
CLASS = 300
"""Students of the course: the lists that staff see are as long as in a large one."""
LOOK_SECONDS = 0.05
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
    parser.add_argument("--submissions", type=int, default=10, help="of each mode")
    options = parser.parse_args()
    hardware = profile.load("cpu")
    if hardware.calibrated is None:
        print("run `solmark calibrate` first", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as home:
        rows = measure(Path(home), options.submissions)
    head = results_schema.header(
        f"python -m benchmarks.latency --output {options.output}", device=hardware.name
    )
    results_schema.write(options.output, results_schema.ResultsFile.model_validate({**head, "rows": rows}))
    return 0


def measure(home: Path, submissions: int) -> list[dict[str, Any]]:
    """Rows of the results file: one a mode, one a page."""
    settings = load().model_copy(update={"server_home": home, "broker_url": "", "database_url": ""})
    upgrade(settings.database)
    database = Database(settings.database)
    try:
        passwords = seed(database, settings, [STUDENT])
        fill_class(database, settings)
        publishing.publish(database, settings, COURSE, f"assignments/{ASSIGNMENT}", by=ADMIN)
    finally:
        database.close()
    with site.running(settings, host="127.0.0.1", port=None) as running:
        with Student(running.url, STUDENT, passwords[STUDENT]) as student:
            rows = [submit(student, mode, submissions) for mode in (Mode.TEST, Mode.GRADE)]
            submission = rows[-1]["last_submission"]
            for row in rows:
                del row["last_submission"]
        for login, pages in (("", OPEN), (STUDENT, OWN), (ADMIN, STAFF)):
            with httpx.Client(base_url=running.url, timeout=30.0) as client:
                if login:
                    log_in(client, login, passwords[login])
                rows += [page(client, name, path.format(submission=submission)) for name, path in pages]
    return rows


def fill_class(database: Database, settings: Settings) -> None:
    """So many students more that the course has CLASS; they never log in."""
    with database.begin() as session:
        course = courses.get_course(session, COURSE)
        for number in range(CLASS - 1):
            name = f"student-{number}"
            user = accounts.create_user(session, settings, login=name, name=name, password=None)
            courses.enrol(session, course, user, Role.STUDENT, by=None)


def submit(student: Student, mode: Mode, count: int) -> dict[str, Any]:
    """Submissions one after the other; `seconds` is what the student waits beyond the session's own time."""
    entry = Entry(ASSIGNMENT, SOLUTION, Verdict.ACCEPTED, None, {SOLUTION.name: SOLUTION}, STUDENT)
    waits, sessions = [], []
    one: Submitted | None = None
    for _ in range(count):
        begin = time.monotonic()
        one = student.submit(entry, mode)
        while not one.final:
            if time.monotonic() - begin > PATIENCE_SECONDS:
                raise SystemExit(f"{one.found['id']} is not final after {PATIENCE_SECONDS:g} s")
            time.sleep(LOOK_SECONDS)
            one.look()
        total = time.monotonic() - begin
        session = one.report()["seconds"]
        print(f"{mode.value}: {total:.2f} s, session {session:.2f} s, {one.found['verdict']}", flush=True)
        waits.append(total - session)
        sessions.append(session)
    assert one is not None
    return {
        "id": f"submit-to-verdict/{mode.value}",
        "submissions": count,
        "seconds": statistics.median(waits),
        "cv": results_schema.cv(waits),
        "seconds_max": max(waits),
        "session_seconds": statistics.median(sessions),
        "samples": {"seconds": waits, "session_seconds": sessions},
        "last_submission": one.found["id"],
    }


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
