"""Courses, who is in them with which role, and teams (of one by default)."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.db.base import Base, text_enum, utc_now
from server.db.models.account import User


class Role(StrEnum):
    """What a person is in a course; each role may do all that the ones before it may."""

    STUDENT = "student"
    TA = "ta"
    ADMIN = "admin"

    @property
    def is_staff(self) -> bool:
        """Whether this role may see other people's work and hidden results."""
        return self is not Role.STUDENT


class Course(Base):
    """One course of one term. Times of day are shown in `timezone` (an IANA name)."""

    __tablename__ = "courses"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    title_en: Mapped[str] = mapped_column(String(256))
    title_zh: Mapped[str] = mapped_column(String(256))
    timezone: Mapped[str] = mapped_column(String(64), default="UTC")
    public_boards: Mapped[bool] = mapped_column(default=False)
    created: Mapped[datetime] = mapped_column(default=utc_now)


class Membership(Base):
    """A person's role in a course."""

    __tablename__ = "memberships"
    __table_args__ = (UniqueConstraint("course_id", "user_id"), Index(None, "user_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    role: Mapped[Role] = mapped_column(text_enum(Role))
    created: Mapped[datetime] = mapped_column(default=utc_now)
    user: Mapped[User] = relationship()
    course: Mapped[Course] = relationship()


class Team(Base):
    """Owner of submissions in a course. Teams of staff do not stand on boards."""

    __tablename__ = "teams"
    __table_args__ = (UniqueConstraint("course_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(128))
    staff: Mapped[bool] = mapped_column(default=False)
    created: Mapped[datetime] = mapped_column(default=utc_now)


class TeamMember(Base):
    """A person in a team; in each course a person is in one team."""

    __tablename__ = "team_members"
    __table_args__ = (UniqueConstraint("course_id", "user_id"), Index(None, "user_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    team: Mapped[Team] = relationship()
