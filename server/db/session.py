"""Transactions: one for each request or task, committed at its boundary; jobs are published after it.

`Database.begin()` is a transaction that writes, `Database.read()` one that does not. On SQLite the first is
`BEGIN IMMEDIATE`, so that two writers wait for each other instead of failing half-way.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.orm import Session

from server.errors import DomainError

_JOBS = "solmark_jobs"
_WRITES = "solmark_writes"
WAIT_SECONDS = 30
"""Longest wait for what another transaction holds; its connection may be that of a machine that is gone."""
AWAY_SECONDS = 2.0
"""Longest that the jobs of one transaction may wait, all together, for a queue that takes none of them."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Job:
    """Something to tell the queue once the transaction is committed, by name; arguments are plain JSON."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Publisher = Callable[[Job], None]


def publish_nothing(job: Job) -> None:
    """The publisher of a process without a queue: the sweeper finds what was not published."""
    _log.debug("job not published", job=job.name)


def publish_after_commit(session: Session, job: Job) -> None:
    """Have a job published when (and only if) the session's transaction commits. Equal jobs merge."""
    jobs: dict[str, Job] = session.info.setdefault(_JOBS, {})
    jobs.setdefault(json.dumps([job.name, job.arguments], sort_keys=True), job)


def commit_early(session: Session) -> None:
    """Keep what was written so far whatever comes, and let others write until the session is used again."""
    session.commit()


class Database:
    """An engine with its two kinds of transaction. `publish` receives the jobs of committed transactions.

    `writer` is the same engine for transactions that write. On PostgreSQL, where one row may be held while
    all others are free, nobody waits for it longer than `row_seconds`.
    """

    def __init__(
        self,
        url: str,
        *,
        pool: int = 20,
        publish: Publisher = publish_nothing,
        row_seconds: int = WAIT_SECONDS,
    ) -> None:
        self.engine = _engine(url, pool, row_seconds)
        self.publish = publish
        self.writer = self.engine.execution_options(**{_WRITES: True})

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """A transaction that may write: commits at the end, rolls back on an error that keeps no writes."""
        with Session(self.writer, expire_on_commit=False) as session:
            try:
                yield session
            except DomainError as error:
                if error.keeps_writes:
                    session.commit()
                raise
            session.commit()
            jobs: dict[str, Job] = session.info.pop(_JOBS, {})
        self._publish_all(jobs.values())

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction for reading: always rolled back."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    def _publish_all(self, jobs: Iterable[Job]) -> None:
        """Publish them while the queue answers. It may be away: the sweeper finds all that is committed."""
        waited, left_out = 0.0, 0
        for job in jobs:
            if waited > AWAY_SECONDS:
                left_out += 1
                continue
            began = time.monotonic()
            try:
                self.publish(job)
            except Exception:  # noqa: BLE001  whatever its client raises
                waited += time.monotonic() - began
                _log.warning("job not published", job=job.name, exc_info=True)
        if left_out:
            _log.warning("jobs not published", count=left_out)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(url: str, pool: int, row_seconds: int) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return _postgresql(parsed, pool, row_seconds)
    if parsed.database and parsed.database != ":memory:":
        # Hashes of passwords and everybody's results lie there: nobody else may look in.
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = create_engine(parsed, pool_size=pool, connect_args={"timeout": WAIT_SECONDS})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # We say BEGIN ourselves, below.
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "foreign_keys=ON",
            "synchronous=NORMAL",
            f"busy_timeout={WAIT_SECONDS}000",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _postgresql(url: URL, pool: int, row_seconds: int) -> Engine:
    # Who waits for an answer of a machine without power would wait for hours by the kernel's defaults.
    alive = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    engine = create_engine(url, pool_size=pool, max_overflow=0, pool_pre_ping=True, connect_args=alive)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.autocommit = True
        connection.execute(f"SET lock_timeout = '{row_seconds}s'")
        connection.autocommit = False

    return engine
