"""Alembic's entry: runs on the connection that `server.db.migrate` opened."""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import JSON, Enum

import server.db.models  # noqa: F401  registers every table
from server.db.base import Base, UtcDateTime


def _render(kind: str, item: Any, autogenerate: AutogenContext) -> str | Literal[False]:
    """Types of ours as plain ones: a migration must not change when our code does."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, Enum):
        return f"sa.String(length={item.length})"
    if kind == "type" and isinstance(item, JSON):
        autogenerate.imports.add("from sqlalchemy.dialects import postgresql")
        return "sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), 'postgresql')"
    return False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_item=_render,
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
