"""Database time of a dispatch with 10,000 submissions queued for 64 workers, as the table grows to a million.

A table of finished submissions of a whole class is filled, and a queue of 500 students (`dispatch_table`). A
first dispatch gives each of 64 workers a job. From then on a worker reports and claims its next job, and the
dispatcher fills its place: that is what is timed, inside the database's driver (statements and commit) and by
the clock around the whole transaction. All of it goes through the server's own services.

    python -m benchmarks.dispatch --output benchmarks/results/dispatch.json
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url, text, update

from benchmarks import results_schema
from benchmarks.dispatch_table import HARDWARE, STUDENTS, WORKERS, fill
from benchmarks.postgres import cluster
from grader import contract
from server.db.base import utc_now
from server.db.migrate import upgrade
from server.db.models import Attempt, Node, Submission, Worker
from server.db.session import Database, Job
from server.grading import service as grading
from server.settings import Settings

QUEUED = 10_000
DATABASES = ("postgresql", "sqlite")
SIZES = (20_000, 100_000, 1_000_000)
DISPATCHES = 300
BEAT_SECONDS = 10.0


class Meter:
    """Seconds spent inside the driver since the last `reset`."""

    def __init__(self, engine: Engine) -> None:
        """Times every statement and commit of the engine from now on."""
        self.seconds = 0.0
        self._begun = 0.0

        @event.listens_for(engine, "before_cursor_execute")
        def _before(*_: Any) -> None:
            self._begun = time.perf_counter()

        @event.listens_for(engine, "after_cursor_execute")
        def _after(*_: Any) -> None:
            self.seconds += time.perf_counter() - self._begun

        commit = engine.dialect.do_commit

        def timed(connection: Any) -> None:
            begun = time.perf_counter()
            commit(connection)
            self.seconds += time.perf_counter() - begun

        engine.dialect.do_commit = timed  # type: ignore[assignment,method-assign]

    def reset(self) -> None:
        """Begin anew."""
        self.seconds = 0.0


@dataclass(frozen=True)
class Site:
    """A filled database, with what plays its workers."""

    database: Database
    settings: Settings
    meter: Meter
    nodes: Sequence[int]
    """Id of each worker's node."""


@dataclass(frozen=True)
class Times:
    """Seconds of each dispatch that filled one place, and of the first, which filled all."""

    driver: list[float]
    whole: list[float]
    first: float
    first_jobs: int


def main() -> int:
    """Measure and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--databases", nargs="+", default=[*DATABASES])
    parser.add_argument("--sizes", nargs="+", type=int, default=[*SIZES])
    parser.add_argument("--dispatches", type=int, default=DISPATCHES, help="timed at each size")
    parser.add_argument("--append", action="store_true", help="keep the file's other rows of this commit")
    parser.add_argument("--plans", type=Path, help="write the plans of one dispatch at the last size here")
    options = parser.parse_args()
    rows = []
    for name in options.databases:
        with tempfile.TemporaryDirectory() as home, _server(name, Path(home)) as url:
            for size in options.sizes:
                with opened(url.format(name=f"d{size}"), Path(home) / str(size), size) as site:
                    rows.append(row(site, name, size, measure(site, options.dispatches)))
                    if options.plans and size == options.sizes[-1]:
                        with options.plans.open("w" if name == options.databases[0] else "a") as file:
                            file.write(plans(site, f"{name} {_version(site.database)}, {size} submissions"))
    head = results_schema.header("to be named", device=_cpu())
    if options.append and options.output.exists():
        before = results_schema.read(options.output)
        if before.commit != head["commit"]:
            raise SystemExit(f"{options.output} is of commit {before.commit}")
        new = {found["id"] for found in rows}
        rows = [kept.model_dump() for kept in before.rows if kept.id not in new] + rows
    head["command"] = command(rows, options.output.name)
    results_schema.write(options.output, results_schema.ResultsFile.model_validate({**head, "rows": rows}))
    return 0


def command(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """What measures all of these rows in one go, whatever pieces they were measured in."""
    words = ["python -m benchmarks.dispatch"]
    for option, field, default in (
        ("--databases", "database", DATABASES),
        ("--sizes", "submissions_in_table", SIZES),
        ("--dispatches", "dispatches", (DISPATCHES,)),
    ):
        found = {row[field] for row in rows}
        if found != set(default):
            words += [option, *map(str, sorted(found))]
    return " ".join([*words, "--output", f"benchmarks/results/{name}"])


@contextmanager
def opened(url: str, home: Path, submissions: int, queued: int = QUEUED) -> Iterator[Site]:
    """A new database of that many submissions, of which so many are queued, with live workers."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        admin = create_engine(parsed.set(database="postgres"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {parsed.database}"))
        admin.dispose()
    upgrade(url)
    settings = Settings(server_home=home, database_url=url)
    database = Database(url, publish=_drop)
    try:
        begun = time.monotonic()
        nodes = fill(database, settings, submissions, queued)
        print(f"filled with {submissions} in {time.monotonic() - begun:.0f} s", flush=True)
        yield Site(database, settings, Meter(database.engine), nodes)
    finally:
        database.close()


def measure(site: Site, dispatches: int) -> Times:
    """Fill all places, then one after another as they become free."""
    _beat(site)
    waiting, first, _ = _dispatch(site)
    if len(waiting) != WORKERS + 1:
        raise SystemExit(f"the first dispatch opened {len(waiting)} attempts instead of {WORKERS + 1}")
    running = list(enumerate(waiting[:WORKERS]))
    for worker, job in running:
        _claim(site, worker, job)
    waiting = waiting[WORKERS:]
    driver, whole = [], []
    beaten = time.monotonic()
    for _ in range(dispatches):
        if time.monotonic() - beaten > BEAT_SECONDS:
            _beat(site)
            beaten = time.monotonic()
        worker, job = running.pop(0)
        _report(site, job)
        _claim(site, worker, waiting[0])
        running.append((worker, waiting.pop(0)))
        found, seconds, total = _dispatch(site)
        if len(found) != 1:
            raise SystemExit(f"a dispatch opened {len(found)} attempts instead of one")
        waiting += found
        driver.append(round(seconds, 7))
        whole.append(round(total, 7))
    return Times(driver, whole, first, WORKERS + 1)


def plans(site: Site, title: str) -> str:
    """How the database carries out the reading statements of one dispatch, as it explains it itself."""
    seen: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(site.database.engine, "before_cursor_execute", note)
    with site.database.begin() as session:
        session.execute(update(Submission).where(Submission.state == "dispatched").values(state="done"))
        session.execute(update(Attempt).where(Attempt.state == "published").values(state="reported"))
        seen.clear()
        grading.dispatch(session, site.settings)
        session.rollback()
    event.remove(site.database.engine, "before_cursor_execute", note)
    postgres = site.database.engine.dialect.name == "postgresql"
    explain = "EXPLAIN " if postgres else "EXPLAIN QUERY PLAN "
    found = [f"# {title}"]
    with site.database.read() as session:
        for statement, parameters in seen:
            if statement.startswith(("SELECT", "WITH")) and "advisory" not in statement:
                steps = session.connection().exec_driver_sql(explain + statement, parameters)
                found += ["", statement.split("FROM")[0].strip()[:100].replace("\n", " ") + " ..."]
                found += [f"    {step[0] if postgres else step[3]}" for step in steps]
    return "\n".join(found) + "\n\n"


def row(site: Site, name: str, size: int, times: Times) -> dict[str, Any]:
    """A row of the results file."""
    seconds = statistics.median(times.driver)
    print(
        f"{name}, {size} submissions: median {seconds * 1e3:.2f} ms in the database, slowest "
        f"{max(times.driver) * 1e3:.2f} ms; whole transaction {statistics.median(times.whole) * 1e3:.2f} ms",
        flush=True,
    )
    return {
        "id": f"dispatch/{name}/{size}",
        "database": name,
        "version": _version(site.database),
        "queued": QUEUED,
        "submissions_in_table": size,
        "workers": WORKERS,
        "students": STUDENTS,
        "dispatches": len(times.driver),
        "seconds": seconds,
        "seconds_mean": statistics.fmean(times.driver),
        "seconds_max": max(times.driver),
        "cv": results_schema.cv(times.driver),
        "transaction_seconds": statistics.median(times.whole),
        "first_dispatch_seconds": times.first,
        "first_dispatch_jobs": times.first_jobs,
        "samples": {"seconds": times.driver, "transaction_seconds": times.whole},
    }


def _dispatch(site: Site) -> tuple[list[contract.JobSpec], float, float]:
    site.meter.reset()
    begun = time.perf_counter()
    with site.database.begin() as session:
        jobs = grading.dispatch(session, site.settings)
    return jobs, site.meter.seconds, time.perf_counter() - begun


def _claim(site: Site, worker: int, job: contract.JobSpec) -> None:
    with site.database.begin() as session:
        node = session.get_one(Node, site.nodes[worker])
        grading.claim(session, site.settings, token=job.token, node=node, worker="worker")


def _report(site: Site, job: contract.JobSpec) -> None:
    verdict = contract.Verdict.WRONG_ANSWER
    report = contract.Report(
        submission=job.submission,
        attempt=job.attempt,
        token=job.token,
        mode=job.mode,
        assignment=job.assignment,
        bundle=job.bundle,
        language=job.language,
        target=job.target,
        verdict=verdict,
        message=contract.Text(code=verdict.value, en="Wrong.", zh="错误。"),
        started=time.time(),
        seconds=20.0,
        environment=contract.Environment(
            judge_version="0", hardware=HARDWARE, hardware_name="simulated", sandbox="none", freezer="none"
        ),
    )
    with site.database.begin() as session:
        stored = grading.store_report(session, site.settings, report.model_dump_json())
    if stored.outcome != "stored":
        raise SystemExit(f"a report was {stored.outcome}: {stored.text}")


def _beat(site: Site) -> None:
    with site.database.begin() as session:
        session.execute(update(Worker).values(last_heartbeat=utc_now()))


def _drop(_: Job) -> None:
    """No queue listens here."""


@contextmanager
def _server(name: str, home: Path) -> Iterator[str]:
    if name == "postgresql":
        with cluster() as url:
            yield url
    else:
        yield f"sqlite:///{home}/{{name}}.db"


def _version(database: Database) -> str:
    postgres = database.engine.dialect.name == "postgresql"
    with database.read() as session:
        return str(session.scalar(text("SHOW server_version" if postgres else "SELECT sqlite_version()")))


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "CPU"


if __name__ == "__main__":
    sys.exit(main())
