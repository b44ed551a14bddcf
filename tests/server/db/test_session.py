"""Transactions: what commits, what does not, and what is published when."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, text

from server.db.models import User
from server.db.session import Database, Job, publish_after_commit
from server.errors import LoginFailed, NotFound


def _users(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(User)) or 0


def test_jobs_are_published_after_the_commit_each_once(database: Database) -> None:
    seen: list[tuple[Job, int]] = []
    database.publish = lambda job: seen.append((job, _users(database)))
    with database.begin() as session:
        session.add(User(login="ann", name="Ann"))
        for job in (Job("a"), Job("b", {"x": 1}), Job("a")):
            publish_after_commit(session, job)
        assert seen == []
    assert seen == [(Job("a"), 1), (Job("b", {"x": 1}), 1)]


def test_what_fails_is_neither_stored_nor_published(database: Database, jobs: list[Job]) -> None:
    def fail(error: Exception) -> None:
        with database.begin() as session:
            session.add(User(login="ann", name="Ann"))
            publish_after_commit(session, Job("a"))
            raise error

    for error in (NotFound(what="x"), RuntimeError()):
        with pytest.raises(type(error)):
            fail(error)
    assert (_users(database), jobs) == (0, [])
    with pytest.raises(LoginFailed):
        fail(LoginFailed())  # This one keeps its writes, but what it wished for is not done.
    assert (_users(database), jobs) == (1, [])


def test_a_queue_that_is_away_loses_no_work(database: Database) -> None:
    def refuse(_: Job) -> None:
        raise ConnectionError("the broker is away")

    database.publish = refuse
    with database.begin() as session:
        session.add(User(login="ann", name="Ann"))
        publish_after_commit(session, Job("a"))
    assert _users(database) == 1


def test_many_jobs_are_merged_without_comparing_each_with_all(database: Database, jobs: list[Job]) -> None:
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str(self) == other

        __hash__ = str.__hash__

    wanted = [Job("changed", {"submission": Name(number % 500)}) for number in range(1000)]
    with database.begin() as session:
        for job in wanted:
            publish_after_commit(session, job)
    assert compared < 5000
    assert jobs == wanted[:500]


def test_a_queue_that_does_not_answer_is_not_waited_for_job_by_job(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def stand_still(job: Job) -> None:
        asked.append(job)
        time.sleep(0.01)
        raise TimeoutError

    monkeypatch.setattr("server.db.session.AWAY_SECONDS", 0.025)
    database.publish = stand_still
    with database.begin() as session:
        session.add(User(login="ann", name="Ann"))
        for number in range(100):
            publish_after_commit(session, Job("changed", {"submission": number}))
    assert 1 <= len(asked) <= 3
    assert _users(database) == 1


def test_a_reading_transaction_stores_nothing(database: Database) -> None:
    with database.read() as session:
        session.add(User(login="ann", name="Ann"))
        session.flush()
    assert _users(database) == 0


def test_writers_that_read_first_do_not_fail_each_other(database: Database) -> None:
    """On SQLite a transaction that begins by reading could not go on to write; ours take the lock at once."""

    def add(number: int) -> None:
        with database.begin() as session:
            count = session.scalar(select(func.count()).select_from(User)) or 0
            session.add(User(login=f"user-{number}", name=str(count)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert _users(database) == 40
    if database.engine.dialect.name == "sqlite":
        with database.read() as session:
            assert len(set(session.scalars(select(User.name)))) == 40  # They came one after another.


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_is_set_up_for_a_server(database: Database) -> None:
    with database.read() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
        assert session.scalar(text("PRAGMA foreign_keys")) == 1
        assert session.scalar(text("PRAGMA busy_timeout")) == 30000
