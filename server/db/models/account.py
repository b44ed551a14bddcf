"""People, and the ways in which they prove who they are."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.db.base import Base, utc_now


class User(Base):
    """A person. `login` is lower-case; without a password hash nobody can log in by password."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    login: Mapped[str] = mapped_column(String(64), unique=True)
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(128))
    password_hash: Mapped[str | None] = mapped_column(String(256))
    site_admin: Mapped[bool] = mapped_column(default=False)
    active: Mapped[bool] = mapped_column(default=True)
    created: Mapped[datetime] = mapped_column(default=utc_now)


class WebSession(Base):
    """A browser that is logged in. Only the digest of its key is kept; deleting the row logs it out."""

    __tablename__ = "web_sessions"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    key_digest: Mapped[str] = mapped_column(String(64), unique=True)
    created: Mapped[datetime] = mapped_column(default=utc_now)
    expires: Mapped[datetime] = mapped_column(index=True)
    user: Mapped[User] = relationship()


class ApiToken(Base):
    """A token for the command line. Only the digest of its secret is kept."""

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    secret_digest: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]]
    """Of `read`, `submit`, `staff`."""
    created: Mapped[datetime] = mapped_column(default=utc_now)
    expires: Mapped[datetime | None]
    last_used: Mapped[datetime | None]
    revoked: Mapped[datetime | None]
    user: Mapped[User] = relationship()


class LoginFailure(Base):
    """One failed login; `key` is the digest of the name or of the address that it is counted for."""

    __tablename__ = "login_failures"
    __table_args__ = (Index(None, "key", "time"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64))
    time: Mapped[datetime] = mapped_column(index=True)
