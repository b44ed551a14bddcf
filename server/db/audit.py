"""The audit log's one writer."""

from typing import Any

from sqlalchemy.orm import Session

from server.db.models import AuditEntry, User


def record(
    session: Session, action: str, subject: str, *, actor: User | None, course_id: int | None, **details: Any
) -> None:
    """Note who did what to which subject; `actor` None is the system itself. Details are plain JSON."""
    session.add(
        AuditEntry(
            actor_id=actor.id if actor else None, course_id=course_id, action=action, subject=subject[:256],
            details=details,
        )
    )  # fmt: skip
