"""SQL on users, sessions, tokens and failed logins."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, joinedload

from server.db.models import ApiToken, LoginFailure, User, WebSession


def user_by_login(session: Session, login: str) -> User | None:
    """The user of that (lower-case) login."""
    return session.scalar(select(User).where(User.login == login))


def user_by_email(session: Session, email: str) -> User | None:
    """The user of that address."""
    return session.scalar(select(User).where(User.email == email))


def web_session(session: Session, key_digest: str, now: datetime) -> WebSession | None:
    """An unexpired session of an active user."""
    return session.scalar(
        select(WebSession)
        .join(WebSession.user)
        .options(joinedload(WebSession.user))
        .where(WebSession.key_digest == key_digest, WebSession.expires > now, User.active)
    )


def delete_web_session(session: Session, key_digest: str) -> None:
    """Log one browser out."""
    session.execute(delete(WebSession).where(WebSession.key_digest == key_digest))


def delete_web_sessions_of(session: Session, user: User) -> None:
    """Log all browsers of a user out."""
    session.execute(delete(WebSession).where(WebSession.user_id == user.id))


def delete_expired(session: Session, now: datetime, failures_before: datetime) -> None:
    """Forget sessions and failed logins that count no more."""
    session.execute(delete(WebSession).where(WebSession.expires <= now))
    session.execute(delete(LoginFailure).where(LoginFailure.time < failures_before))


def token(session: Session, secret_digest: str, now: datetime) -> ApiToken | None:
    """A token that is neither revoked nor expired, of an active user."""
    return session.scalar(
        select(ApiToken)
        .join(ApiToken.user)
        .options(joinedload(ApiToken.user))
        .where(
            ApiToken.secret_digest == secret_digest,
            ApiToken.revoked.is_(None),
            (ApiToken.expires.is_(None)) | (ApiToken.expires > now),
            User.active,
        )
    )


def touch_token(session: Session, token_id: int, now: datetime) -> None:
    """Remember when a token was last used."""
    session.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used=now))


def tokens_of(session: Session, user: User, *, before: int | None, limit: int) -> Sequence[ApiToken]:
    """Tokens of a user that were not revoked, newest first, of ids below `before`."""
    statement = select(ApiToken).where(ApiToken.user_id == user.id, ApiToken.revoked.is_(None))
    if before is not None:
        statement = statement.where(ApiToken.id < before)
    return session.scalars(statement.order_by(ApiToken.id.desc()).limit(limit)).all()


def token_of(session: Session, user: User, token_id: int) -> ApiToken | None:
    """One of the user's tokens, unless it was revoked."""
    return session.scalar(
        select(ApiToken).where(
            ApiToken.id == token_id, ApiToken.user_id == user.id, ApiToken.revoked.is_(None)
        )
    )


def revoke_token(session: Session, user: User, token_id: int, now: datetime) -> bool:
    """Revoke a user's token; False if there is no such one."""
    found = session.scalar(
        update(ApiToken)
        .where(ApiToken.id == token_id, ApiToken.user_id == user.id, ApiToken.revoked.is_(None))
        .values(revoked=now)
        .returning(ApiToken.id)
    )
    return found is not None


def failures(session: Session, key: str, since: datetime) -> tuple[int, datetime | None]:
    """How many failed logins a key had since then, and when the oldest of them was."""
    count, oldest = session.execute(
        select(func.count(), func.min(LoginFailure.time)).where(
            LoginFailure.key == key, LoginFailure.time >= since
        )
    ).one()
    return count, oldest


def lock_login(session: Session, key: str) -> None:
    """Let one login with this key at a time count and be counted, until the transaction ends.

    SQLite has one writer at a time anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(key, 0))))


def delete_failures(session: Session, ids: Sequence[int]) -> None:
    """Forget these failed logins."""
    session.execute(delete(LoginFailure).where(LoginFailure.id.in_(ids)))


def forget_failures(session: Session, key: str) -> None:
    """A login succeeded: its earlier failures count no more."""
    session.execute(delete(LoginFailure).where(LoginFailure.key == key))
