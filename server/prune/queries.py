"""SQL that finds and removes what nothing refers to, and what has expired."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from server.db.base import Base, utc_now
from server.db.models import AttemptBlob, Blob, LoginFailure, WebSession

_Conditions = tuple[type[Base], ColumnElement[bool]]


def _nobody_refers() -> list[ColumnElement[bool]]:
    """No row of any table refers to the blob: the tables' own foreign keys say which columns may."""
    columns = [
        column
        for table in Base.metadata.sorted_tables
        for column in table.columns
        if any(key.column.table.name == Blob.__tablename__ for key in column.foreign_keys)
    ]
    return [~exists().where(column == Blob.sha256) for column in columns]


def unused(session: Session, before: datetime) -> Sequence[tuple[str, int]]:
    """(digest, size) of blobs noted before then to which no row refers."""
    rows = session.execute(
        select(Blob.sha256, Blob.size).where(Blob.created < before, *_nobody_refers()).order_by(Blob.sha256)
    )
    return [(sha256, size) for sha256, size in rows]


def take(session: Session, sha256: str) -> bool:
    """Delete the note of a blob that is still unused; False if it is not, or somebody holds it."""
    found = session.scalar(
        select(Blob.sha256)
        .where(Blob.sha256 == sha256, *_nobody_refers())
        .with_for_update(skip_locked=True, of=Blob)
    )
    if found is None:
        return False
    session.execute(delete(Blob).where(Blob.sha256 == sha256))
    return True


def is_noted(session: Session, sha256: str) -> bool:
    """Whether there is a note of that blob."""
    return session.get(Blob, sha256) is not None


def take_unnoted(session: Session, sha256: str) -> bool:
    """Hold the place of a note that does not exist until the transaction ends; False if there is one."""
    insert = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert
    values = {"sha256": sha256, "size": 0, "created": utc_now()}
    held = session.scalar(insert(Blob).values(values).on_conflict_do_nothing().returning(Blob.sha256))
    if held is None:
        return False
    session.execute(delete(Blob).where(Blob.sha256 == sha256))
    return True


def old_logs(before: datetime) -> _Conditions:
    """What workers uploaded about attempts before then."""
    return AttemptBlob, AttemptBlob.created < before


def expired_sessions(now: datetime) -> _Conditions:
    """Browsers that are logged out by now."""
    return WebSession, WebSession.expires < now


def old_failures(before: datetime) -> _Conditions:
    """Failed logins that count no more."""
    return LoginFailure, LoginFailure.time < before


def count(session: Session, rows: _Conditions) -> int:
    """How many there are."""
    table, condition = rows
    return session.scalar(select(func.count()).select_from(table).where(condition)) or 0


def remove(session: Session, rows: _Conditions) -> None:
    """Delete them."""
    table, condition = rows
    session.execute(delete(table).where(condition))
