"""Results that staff look at before they are ranked."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None
_WAITING = sa.text("review = 'waiting' AND current")


def upgrade() -> None:
    with op.batch_alter_table("scores", schema=None) as batch_op:
        batch_op.add_column(sa.Column("review", sa.String(length=32), nullable=True))
        batch_op.add_column(sa.Column("review_note", sa.Text(), nullable=False, server_default=""))
        batch_op.create_index(
            "ix_scores_to_review", ["course_id"], sqlite_where=_WAITING, postgresql_where=_WAITING
        )


def downgrade() -> None:
    with op.batch_alter_table("scores", schema=None) as batch_op:
        batch_op.drop_index("ix_scores_to_review", sqlite_where=_WAITING, postgresql_where=_WAITING)
        batch_op.drop_column("review_note")
        batch_op.drop_column("review")
