"""Who used devices lately: what the queue's fairness goes by."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from server.db.base import Base


class DeviceUsage(Base):
    """Recent device time of one student, in all courses together; old use counts less and less.

    Kept as `weight`, which needs no update while time passes: see `server.grading.fairness`.
    """

    __tablename__ = "device_usage"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    weight: Mapped[float]
    served: Mapped[datetime]
    """When an attempt of this student ended last."""
