"""SQL that copies whole tables as they stand in the database, whatever this version's models say."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Connection, DateTime, MetaData, Table, func, insert, select, text

REVISIONS = "alembic_version"
BATCH = 500


def tables(connection: Connection) -> list[Table]:
    """All tables but the migrations' own, those first that others refer to."""
    metadata = MetaData()
    metadata.reflect(connection)
    for table in metadata.tables.values():
        for column in table.columns:
            if isinstance(column.type, JSON):
                column.type.none_as_null = True
    return [table for table in metadata.sorted_tables if table.name != REVISIONS]


def revision(connection: Connection) -> str | None:
    """The migration at which the database stands; None if it has none."""
    if not connection.dialect.has_table(connection, REVISIONS):
        return None
    found: str | None = connection.scalar(text(f"SELECT version_num FROM {REVISIONS}"))  # noqa: S608
    return found


def snapshot(connection: Connection) -> None:
    """Make all that this transaction reads from here on be of one moment. SQLite's are so by themselves."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))


def rows(connection: Connection, table: Table) -> Iterator[Mapping[str, Any]]:
    """All rows of a table, in the order of its key, without holding them all in memory."""
    query = select(table).order_by(*table.primary_key.columns)
    result = connection.execution_options(stream_results=True, yield_per=BATCH).execute(query)
    for row in result.mappings():
        yield dict(row)


def filled(connection: Connection) -> str | None:
    """The name of a table that has rows; None if the database is empty."""
    for table in tables(connection):
        if connection.scalar(select(func.count()).select_from(select(table).limit(1).subquery())):
            return table.name
    return None


def fill(connection: Connection, table: Table, found: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows as they stand in an archive."""
    times = [column.name for column in table.columns if isinstance(column.type, DateTime)]
    naive = connection.dialect.name == "sqlite"
    values = []
    for row in found:
        value = dict(row)
        for name in times:
            if value.get(name) is not None:
                time = datetime.fromisoformat(value[name]).astimezone(UTC)
                value[name] = time.replace(tzinfo=None) if naive else time
        values.append(value)
    connection.execute(insert(table), values)


def count_on(connection: Connection, table: Table) -> None:
    """Have numbers that the database gives to new rows begin after those that were inserted."""
    keys = list(table.primary_key.columns)
    if connection.dialect.name != "postgresql" or len(keys) != 1:
        return
    sequence = connection.scalar(
        text("SELECT pg_get_serial_sequence(:table, :key)"), {"table": table.name, "key": keys[0].name}
    )
    if sequence is not None:
        last = connection.scalar(select(func.max(keys[0])))
        connection.execute(
            text("SELECT setval(CAST(:sequence AS regclass), :last, :used)"),
            {"sequence": sequence, "last": last or 1, "used": last is not None},
        )
