"""Transactions: one for each request or task, committed at its boundary; jobs are published after it.

`Database.begin()` is a transaction that writes, `Database.read()` one that does not. On SQLite the first is
`BEGIN IMMEDIATE`, so that two writers wait for each other instead of failing half-way.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.orm import Session

from server.errors import DomainError

_JOBS = "solmark_jobs"
_WRITES = "solmark_writes"
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
    jobs: list[Job] = session.info.setdefault(_JOBS, [])
    if job not in jobs:
        jobs.append(job)


def commit_early(session: Session) -> None:
    """Keep what was written so far whatever comes, and let others write until the session is used again."""
    session.commit()


class Database:
    """An engine with its two kinds of transaction. `publish` receives the jobs of committed transactions.

    `writer` is the same engine for transactions that write.
    """

    def __init__(self, url: str, *, pool: int = 20, publish: Publisher = publish_nothing) -> None:
        self.engine = _engine(url, pool)
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
            jobs: list[Job] = session.info.pop(_JOBS, [])
        for job in jobs:
            try:
                self.publish(job)
            except Exception:  # noqa: BLE001  the queue may be away: committed work is found again by the sweeper
                _log.warning("job not published", job=job.name, exc_info=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction for reading: always rolled back."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(url: str, pool: int) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_size=pool, max_overflow=0, pool_pre_ping=True)
    if parsed.database and parsed.database != ":memory:":
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(parsed, pool_size=pool, connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # We say BEGIN ourselves, below.
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=NORMAL", "busy_timeout=30000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine
