"""What grading found: Reports as they came, the results in them by case, and scores."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from grader.contract import Verdict
from server.db.base import Base, text_enum, utc_now


class Report(Base):
    """One Report, verbatim. One that came late is kept for audit and is never current."""

    __tablename__ = "reports"
    __table_args__ = (
        UniqueConstraint("attempt_id"),
        Index(
            "uq_reports_current", "submission_id", unique=True,
            sqlite_where=text("current"), postgresql_where=text("current"),
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), index=True)
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id", ondelete="CASCADE"))
    current: Mapped[bool] = mapped_column(default=False)
    verdict: Mapped[Verdict | None] = mapped_column(text_enum(Verdict))
    """None: it could not be read; `fault` says why."""
    fault: Mapped[str] = mapped_column(Text, default="")
    body: Mapped[str] = mapped_column(Text)
    """The JSON as received (of one that could not be read, its beginning)."""
    received: Mapped[datetime] = mapped_column(default=utc_now)


class CaseResult(Base):
    """One case of the result of a submission that counts, for statistics over cases."""

    __tablename__ = "case_results"
    __table_args__ = (Index(None, "assignment_id", "case"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id", ondelete="CASCADE"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(8))
    """`public`, `hidden` (staff only) or `timed`."""
    case: Mapped[str] = mapped_column(String(64))
    part: Mapped[str] = mapped_column(String(64))
    verdict: Mapped[Verdict | None] = mapped_column(text_enum(Verdict))
    seconds: Mapped[float | None]
    """Of a timed case, seconds per call."""
    fraction: Mapped[float | None]


class Review(StrEnum):
    """What staff have said of a result that they look at before it is ranked."""

    WAITING = "waiting"
    RANKED = "ranked"
    UNRANKED = "unranked"


_TO_REVIEW = "review = 'waiting' AND current"


class Score(Base):
    """The score of one attempt. What may be compared shares bundle, hardware and devices."""

    __tablename__ = "scores"
    __table_args__ = (
        UniqueConstraint("attempt_id"),
        Index(
            "uq_scores_current", "submission_id", unique=True,
            sqlite_where=text("current"), postgresql_where=text("current"),
        ),
        Index(None, "assignment_id", "bundle_digest", "hardware", "devices"),
        Index(
            "ix_scores_to_review", "course_id",
            sqlite_where=text(_TO_REVIEW), postgresql_where=text(_TO_REVIEW),
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id", ondelete="CASCADE"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id", ondelete="CASCADE"))
    current: Mapped[bool] = mapped_column(default=True)
    fraction: Mapped[float | None]
    low: Mapped[float | None]
    high: Mapped[float | None]
    points: Mapped[float | None]
    ranked: Mapped[bool] = mapped_column(default=False)
    review: Mapped[Review | None] = mapped_column(text_enum(Review))
    """None: the judge asked for no look."""
    review_note: Mapped[str] = mapped_column(Text, default="", server_default="")
    """What staff noted when they decided, for staff."""
    bundle_digest: Mapped[str] = mapped_column(String(64))
    judge_version: Mapped[str] = mapped_column(String(64))
    hardware: Mapped[str] = mapped_column(String(32))
    devices: Mapped[int]
    hardware_name: Mapped[str] = mapped_column(String(128))
    hardware_digest: Mapped[str | None] = mapped_column(String(64))
    created: Mapped[datetime] = mapped_column(default=utc_now)
