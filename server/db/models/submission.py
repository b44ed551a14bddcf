"""Submissions and their files."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.contract import FailureClass, Mode, Reason, Verdict
from server.db.base import Base, JsonType, text_enum, utc_now
from server.db.models.account import User
from server.db.models.assignment import Assignment, AssignmentVersion
from server.db.models.course import Course, Team
from server.grading.states import SubmissionState

_ACTIVE = "state IN ('dispatched', 'running')"
"""`server.grading.states.ACTIVE` as a migration knows it."""


class Submission(Base):
    """One hand-in of a team. `public_id` is random and stands in addresses; `number` counts in the team."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("team_id", "assignment_id", "number"),
        Index(None, "state", "hardware", "reason", "queued"),
        Index(
            "ix_submissions_waiting", "hardware", "user_id", "reason", "queued", "id",
            sqlite_where=text("state = 'queued'"), postgresql_where=text("state = 'queued'"),
        ),
        Index(
            "ix_submissions_active", "user_id", sqlite_where=text(_ACTIVE), postgresql_where=text(_ACTIVE)
        ),
        Index(None, "team_id", "state"),
        Index(None, "course_id", "created"),
        Index(None, "assignment_id", "created"),
        Index(None, "user_id", "created"),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id", ondelete="CASCADE"))
    version_id: Mapped[int] = mapped_column(ForeignKey("assignment_versions.id"))
    number: Mapped[int]
    mode: Mapped[Mode] = mapped_column(text_enum(Mode))
    reason: Mapped[Reason] = mapped_column(text_enum(Reason), default=Reason.SUBMIT)
    language: Mapped[str] = mapped_column(String(16))
    entry: Mapped[str] = mapped_column(String(128))
    language_given: Mapped[bool] = mapped_column(default=False)
    """The author chose the language; otherwise it was detected from the files."""
    hardware: Mapped[str] = mapped_column(String(32))
    devices: Mapped[int] = mapped_column(default=1)
    content_digest: Mapped[str] = mapped_column(String(64), index=True)
    """Digest over names and contents of all files: equal for identical hand-ins."""

    state: Mapped[SubmissionState] = mapped_column(text_enum(SubmissionState), default=SubmissionState.QUEUED)
    created: Mapped[datetime] = mapped_column(default=utc_now)
    queued: Mapped[datetime] = mapped_column(default=utc_now)
    """When it last entered the queue: a rerun starts again, a lost attempt does not."""
    finished: Mapped[datetime | None]
    failed_attempts: Mapped[int] = mapped_column(default=0)
    """Attempts lost or failed by infrastructure since it last entered the queue."""
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    expected_seconds: Mapped[float] = mapped_column(default=60.0)
    """Device seconds reserved from the day's budget while unfinished."""
    charged_seconds: Mapped[float] = mapped_column(default=0.0)
    """Device seconds taken from the day's budget; infrastructure failures cost nothing."""
    charged_attempt: Mapped[bool] = mapped_column(default=False)
    """Whether it costs the team one of its gradings."""

    verdict: Mapped[Verdict | None] = mapped_column(text_enum(Verdict))
    failure_class: Mapped[FailureClass | None] = mapped_column(text_enum(FailureClass))
    message: Mapped[dict[str, Any] | None] = mapped_column(JsonType)
    """`grader.contract.Text` of the verdict."""
    points: Mapped[float | None]
    fraction: Mapped[float | None]

    course: Mapped[Course] = relationship()
    team: Mapped[Team] = relationship()
    user: Mapped[User] = relationship()
    assignment: Mapped[Assignment] = relationship()
    version: Mapped[AssignmentVersion] = relationship()
    files: Mapped[list["SubmissionFile"]] = relationship(order_by="SubmissionFile.name")


class SubmissionFile(Base):
    """One file of a submission; its content is a blob."""

    __tablename__ = "submission_files"

    submission_id: Mapped[int] = mapped_column(
        ForeignKey("submissions.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(128), primary_key=True)
    sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"), index=True)
    size: Mapped[int]
