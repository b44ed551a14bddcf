"""What all tables share: naming of constraints, UTC times, enums as text, JSON."""

from collections.abc import Collection
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ColumnElement, DateTime, Dialect, Enum, MetaData, bindparam
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute
from sqlalchemy.types import TypeDecorator


def utc_now() -> datetime:
    """The present time, aware."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored in UTC; a naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database: SQLite has no zones, so UTC is stored without one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """From the database: always aware, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


JsonType = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def text_enum(kind: type[StrEnum]) -> Enum:
    """A column type that stores the values of a StrEnum as text, so that adding one needs no migration."""
    return Enum(
        kind, native_enum=False, create_constraint=False, length=32,
        values_callable=lambda members: [member.value for member in members],
    )  # fmt: skip


def one_of(column: InstrumentedAttribute[Any], values: Collection[StrEnum]) -> ColumnElement[bool]:
    """`column IN (...)`, or `column = ...` for one value, with the values in the statement's text, in order.

    An index on rows of just these states serves it, and a plan is made for them: one for any state would have
    to expect half the table.
    """
    if len(values) == 1:  # SQLite would not see that `IN` with one value means the same.
        (value,) = values
        return column == bindparam(None, value, literal_execute=True, type_=column.type)
    return column.in_(bindparam(None, sorted(values), expanding=True, literal_execute=True))


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012
        datetime: UtcDateTime,
        dict[str, Any]: JsonType,
        list[str]: JsonType,
    }
