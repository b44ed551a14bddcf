"""With a table of many finished submissions, no step of grading reads all of it, on either database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, select, text

from server.db.models import Attempt, Submission, Team, User
from server.db.session import Database
from server.grading import service
from server.submissions import service as submissions

MANY = 30_000
STUDENTS = 300
LARGE = ("submissions", "attempts")
SMALL = ("ix_submissions_waiting", "ix_submissions_active", "uq_attempts_open")
"""Indexes of what is under way alone: to walk along one of them is not to read the table."""


@pytest.fixture
def many(database: Database, grader: Any, submit: Callable[..., str]) -> None:
    """One graded submission with its attempt, again and again: of many students, minute by minute."""
    submit("ann")
    grader.grade()
    postgres = database.engine.dialect.name == "postgresql"

    def series(first: int, last: int) -> str:
        steps = f"WITH RECURSIVE c(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM c WHERE i < {last})"
        return f"generate_series({first}, {last}) AS i" if postgres else f"({steps} SELECT i FROM c)"

    def before(column: str) -> str:
        if postgres:
            return f"one.{column} - i * interval '1 minute'"
        return f"strftime('%Y-%m-%d %H:%M:%f000', one.{column}, '-' || i || ' minutes')"

    with database.begin() as session:
        row = session.scalars(select(Submission)).one()
        first, base = session.execute(select(Submission.id, Attempt.id).join(Attempt)).one()
        who = {
            "user_id": f"{row.user_id} + 1000 + i % {STUDENTS}",
            "team_id": f"{row.team_id} + 1000 + i % {STUDENTS}",
        }
        for table, last, changed in (
            (User, STUDENTS, {"id": f"{row.user_id} + 999 + i", "login": "'u' || i", "email": "NULL"}),
            (Team, STUDENTS, {"id": f"{row.team_id} + 999 + i", "name": "'t' || i"}),
            (Submission, MANY, {"id": f"{first} + i", "public_id": "'p' || i", "number": "i", **who}
             | {name: before(name) for name in ("created", "queued", "finished")}),
            (Attempt, MANY, {"id": f"{base} + i", "token": "'t' || i", "submission_id": f"{first} + i"}
             | {"team_id": who["team_id"]}
             | {name: before(name) for name in ("opened", "started", "finished")}),
        ):  # fmt: skip
            name = table.__tablename__
            whose = {User: row.user_id, Team: row.team_id, Submission: first, Attempt: base}[table]
            columns = [column.name for column in table.__table__.columns]
            values = ", ".join(changed.get(column, f"one.{column}") for column in columns)
            session.execute(
                text(
                    f"INSERT INTO {name} ({', '.join(columns)}) SELECT {values} FROM {name} AS one, "
                    f"{series(1, last)} WHERE one.id = {whose}"
                )
            )
            if postgres:
                highest = f"(SELECT max(id) FROM {name})"
                session.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {highest})"))
        session.execute(text("ANALYZE"))


@contextmanager
def _statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    found: list[tuple[str, Any]] = []

    def note(_c: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def _whole_reads(database: Database, statements: list[tuple[str, Any]]) -> list[str]:
    """Steps of plans that read a whole large table, with their statements."""
    postgres = database.engine.dialect.name == "postgresql"
    explain = "EXPLAIN " if postgres else "EXPLAIN QUERY PLAN "
    found = []
    with database.read() as session:
        connection = session.connection()
        for statement, parameters in statements:
            if statement.lstrip().upper().split()[0] not in ("SELECT", "WITH", "UPDATE", "DELETE"):
                continue
            for row in connection.exec_driver_sql(explain + statement, parameters):
                step = row[0] if postgres else row[3]
                words = step.replace("->", "").split()
                whole = words[:3] == ["Seq", "Scan", "on"] if postgres else words[:1] == ["SCAN"]
                table = words[3 if postgres else 1] if whole else ""
                # SQLite also calls a walk along an index a scan; on these tables that is the whole index.
                alias_of = table if postgres else _named(statement, table)
                if whole and alias_of in LARGE and not any(name in step for name in SMALL):
                    found.append(f"{step}\n{statement}")
    return found


def _named(statement: str, alias: str) -> str:
    """The table that SQLite's plan names by its alias."""
    for table in LARGE:
        if alias == table or f"{table} AS {alias} " in statement.replace("\n", " ").replace(",", " "):
            return table
    return alias


def test_no_step_of_grading_reads_a_whole_table(
    database: Database, grader: Any, submit: Callable[..., str], many: None
) -> None:
    assert many is None
    with _statements(database) as seen:
        public_id = submit("bob", now=grader.now)
        submit("ann", now=grader.now)
        grader.beat()
        with database.begin() as session:
            row = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
            assert service.place(session, grader.settings, row, now=grader.now) is not None
        spec, _ = grader.dispatch()
        grader.claim(spec)
        grader.beat(token=spec.token)
        assert grader.send(grader.report(spec)).outcome == "stored"
        grader.wait(grader.settings.pickup_seconds + 1)
        grader.sweep()
        with database.begin() as session:
            row = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
            submissions.rerun(session, grader.settings, row, by=grader.world.ta, now=grader.now)
            submissions.cancel(session, row, by=grader.world.ta, now=grader.now)
            service.jobs_of_workers(session)
    assert len(seen) > 40
    assert any("ranking" in statement for statement, _ in seen)
    assert _whole_reads(database, seen) == []


def test_a_statement_that_reads_a_whole_table_is_found(database: Database, many: None) -> None:
    assert many is None
    with _statements(database) as seen, database.read() as session:
        session.execute(text("SELECT count(*) FROM submissions WHERE points > 3")).one()
    assert len(_whole_reads(database, seen)) == 1
