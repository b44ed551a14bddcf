"""Files kept by content hash; their bytes are on disk (`server.blobs`)."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from server.db.base import Base, utc_now


class Blob(Base):
    """One stored content. A blob is never changed."""

    __tablename__ = "blobs"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    size: Mapped[int]
    created: Mapped[datetime] = mapped_column(default=utc_now)
