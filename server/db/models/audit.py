"""Who did what."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.db.base import Base, JsonType, utc_now
from server.db.models.account import User


class AuditEntry(Base):
    """One act of staff, or one event that staff must be able to find. `actor_id` is null for the system."""

    __tablename__ = "audit_log"
    __table_args__ = (Index(None, "course_id", "time"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    time: Mapped[datetime] = mapped_column(default=utc_now)
    actor_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    course_id: Mapped[int | None] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    action: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(256))
    actor: Mapped[User | None] = relationship()
    details: Mapped[dict[str, Any]] = mapped_column(JsonType)
