"""Attempts at grading a submission."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.contract import Reason, Verdict
from server.db.base import Base, text_enum, utc_now
from server.db.models.node import Worker
from server.db.models.submission import Submission
from server.grading.states import AttemptState

_OPEN = "state IN ('published', 'running')"
"""`server.grading.states.OPEN` as a migration knows it: a submission has one open attempt at most."""


class Attempt(Base):
    """One try, with a lease: when `lease_until` passes, the sweeper takes the job away from its worker."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("submission_id", "number"),
        Index(None, "state", "lease_until"),
        Index(None, "finished"),
        Index(None, "worker_id", "state"),
        Index(
            "uq_attempts_open", "submission_id", unique=True,
            sqlite_where=text(_OPEN), postgresql_where=text(_OPEN),
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    number: Mapped[int]
    token: Mapped[str] = mapped_column(String(64), unique=True)
    reason: Mapped[Reason] = mapped_column(text_enum(Reason))
    hardware: Mapped[str] = mapped_column(String(32))
    state: Mapped[AttemptState] = mapped_column(text_enum(AttemptState), default=AttemptState.PUBLISHED)
    opened: Mapped[datetime] = mapped_column(default=utc_now)
    published: Mapped[datetime] = mapped_column(default=utc_now)
    """When its job was last handed to the queue."""
    lease_until: Mapped[datetime]
    deadline: Mapped[datetime]
    """When the lease ends for good, however lively the worker is."""
    started: Mapped[datetime | None]
    finished: Mapped[datetime | None]
    device_seconds: Mapped[float] = mapped_column(default=0.0)
    verdict: Mapped[Verdict | None] = mapped_column(text_enum(Verdict))
    """What its Report found, whatever came of that; None: no Report came in time."""
    worker_id: Mapped[int | None] = mapped_column(ForeignKey("workers.id", ondelete="SET NULL"))
    node: Mapped[str] = mapped_column(String(128), default="")
    submission: Mapped[Submission] = relationship()
    worker: Mapped[Worker | None] = relationship()


class AttemptBlob(Base):
    """A log that a worker uploaded for an attempt."""

    __tablename__ = "attempt_blobs"

    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id", ondelete="CASCADE"), primary_key=True)
    sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"), primary_key=True)
    created: Mapped[datetime] = mapped_column(default=utc_now)
