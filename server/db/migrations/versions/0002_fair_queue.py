"""Fair queue, quarantine, health of workers."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None
_QUEUED = sa.text("state = 'queued'")
_ACTIVE = sa.text("state IN ('dispatched', 'running')")
_OPEN = sa.text("state IN ('published', 'running')")


def _json() -> sa.JSON:
    return sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "device_usage",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("served", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_device_usage_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_device_usage")),
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.add_column(sa.Column("quarantined", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("quarantine", _json(), nullable=True))
        batch_op.add_column(sa.Column("trusted_since", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("verdict", sa.String(length=32), nullable=True))
        batch_op.create_index(
            "uq_attempts_open", ["submission_id"], unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN
        )
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.add_column(sa.Column("quarantine", _json(), nullable=True))
        batch_op.add_column(sa.Column("trusted_since", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_submissions_state_hardware_queued"))
        batch_op.create_index(
            batch_op.f("ix_submissions_state_hardware_reason_queued"),
            ["state", "hardware", "reason", "queued"],
            unique=False,
        )
        batch_op.create_index(
            "ix_submissions_waiting",
            ["hardware", "user_id", "reason", "queued", "id"],
            unique=False,
            sqlite_where=_QUEUED,
            postgresql_where=_QUEUED,
        )
        batch_op.create_index(
            "ix_submissions_active", ["user_id"], unique=False, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE
        )
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.add_column(sa.Column("health", _json(), nullable=False, server_default="{}"))
        batch_op.add_column(sa.Column("consuming", sa.Boolean(), nullable=False, server_default=sa.true()))


def downgrade() -> None:
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.drop_column("consuming")
        batch_op.drop_column("health")
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_index("ix_submissions_active", sqlite_where=_ACTIVE, postgresql_where=_ACTIVE)
        batch_op.drop_index("ix_submissions_waiting", sqlite_where=_QUEUED, postgresql_where=_QUEUED)
        batch_op.drop_index(batch_op.f("ix_submissions_state_hardware_reason_queued"))
        batch_op.create_index(
            batch_op.f("ix_submissions_state_hardware_queued"), ["state", "hardware", "queued"], unique=False
        )
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.drop_column("trusted_since")
        batch_op.drop_column("quarantine")
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index("uq_attempts_open", sqlite_where=_OPEN, postgresql_where=_OPEN)
        batch_op.drop_column("verdict")
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.drop_column("trusted_since")
        batch_op.drop_column("quarantine")
        batch_op.drop_column("quarantined")
    op.drop_table("device_usage")
