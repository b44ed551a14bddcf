"""Assignments of a course and the versions of their folders."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.db.base import Base, JsonType, utc_now
from server.db.models.course import Course


class Assignment(Base):
    """An assignment of a course: dates and limits, which are not in the folder.

    It is published when one of its versions is current. Null limits take the server's default.
    """

    __tablename__ = "assignments"
    __table_args__ = (UniqueConstraint("course_id", "track", "slug"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    track: Mapped[str] = mapped_column(String(64))
    slug: Mapped[str] = mapped_column(String(64))
    opens: Mapped[datetime | None]
    closes: Mapped[datetime | None]
    attempt_limit: Mapped[int | None]
    """Gradings (mode `grade`) that one team may use."""
    device_seconds_per_day: Mapped[float | None]
    """Device seconds that one student may use in a day of the course's time zone."""
    quarantined: Mapped[datetime | None]
    """Since when nothing of it is graded, because grading it fails again and again; staff lift it."""
    quarantine: Mapped[dict[str, Any] | None] = mapped_column(JsonType)
    """What it was quarantined for (`server.grading.quarantine`)."""
    trusted_since: Mapped[datetime | None]
    """Failures before this count against it no more: staff lifted a quarantine."""
    created: Mapped[datetime] = mapped_column(default=utc_now)
    course: Mapped[Course] = relationship()

    @property
    def name(self) -> str:
        """The name people use, `track/slug`."""
        return f"{self.track}/{self.slug}"


class AssignmentVersion(Base):
    """One bundle of an assignment: its digest is the dataset version. At most one is current."""

    __tablename__ = "assignment_versions"
    __table_args__ = (
        UniqueConstraint("assignment_id", "digest"),
        Index(
            "uq_assignment_versions_current", "assignment_id", unique=True,
            sqlite_where=text("current"), postgresql_where=text("current"),
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id", ondelete="CASCADE"))
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    """Of the bundle, whose archive is the blob of that name."""
    current: Mapped[bool] = mapped_column(default=False)
    starter_blob: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    manifest: Mapped[dict[str, Any]]
    """`grader.manifest.Manifest` as JSON."""
    title_en: Mapped[str] = mapped_column(String(256))
    title_zh: Mapped[str] = mapped_column(String(256))
    readme_en: Mapped[str] = mapped_column(Text)
    readme_zh: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime] = mapped_column(default=utc_now)
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    assignment: Mapped[Assignment] = relationship()
