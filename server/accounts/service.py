"""Who people are, and how they prove it: passwords, browser sessions, API tokens."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Literal

from sqlalchemy.orm import Session

from server import credentials
from server.accounts import queries
from server.db.base import utc_now
from server.db.models import ApiToken, LoginFailure, User, WebSession
from server.db.session import commit_early
from server.errors import Conflict, Invalid, LoginFailed, NotFound, TooManyLogins
from server.settings import Settings

Scope = Literal["read", "submit", "staff"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "staff")
DEFAULT_SCOPES = ("read", "submit")
MIN_PASSWORD = 10
MAX_PASSWORD = 256
ADDRESS_FACTOR = 10
"""Many students share one address: it may fail so many times as often as one name."""
TOUCH_EVERY = timedelta(minutes=1)
_LOGIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Hashed(str):
    """A password that is hashed already: many of them are hashed before a transaction begins, not in it."""

    __slots__ = ()


def create_user(
    session: Session,
    settings: Settings,
    *,
    login: str,
    name: str,
    password: str | Hashed | None,
    email: str | None = None,
    site_admin: bool = False,
) -> User:
    """Create a user; without a password nobody can log in as them until one is set.

    Raises `Invalid` for what is not acceptable, `Conflict` if login or e-mail is taken.
    """
    login = login.strip().lower()
    name = name.strip()
    if not _LOGIN.fullmatch(login):
        raise Invalid(
            field="login",
            why="1 to 64 of a-z, 0-9, dot, dash, underscore, beginning with a letter or digit; "
            f"{login[:64]!r} is not",
            why_zh="须为 1 至 64 个字符（a-z、0-9、点、连字符、下划线），以字母或数字开头；"
            f"{login[:64]!r} 不符合",
        )
    if not 1 <= len(name) <= 128:
        raise Invalid(field="name", why="1 to 128 characters", why_zh="须为 1 至 128 个字符")
    if queries.user_by_login(session, login):
        raise Conflict(what=f"login {login}")
    if email is not None and queries.user_by_email(session, email):
        raise Conflict(what=f"e-mail {email}")
    hashed = (
        password if password is None or isinstance(password, Hashed) else hashed_password(settings, password)
    )
    user = User(login=login, name=name, email=email, password_hash=hashed, site_admin=site_admin)
    session.add(user)
    session.flush()
    return user


def set_password(session: Session, settings: Settings, user: User, password: str) -> None:
    """Change a password; all browsers of the user are logged out."""
    commit_early(session)  # As in `log_in`.
    user.password_hash = hashed_password(settings, password)
    queries.delete_web_sessions_of(session, user)


def find_user(session: Session, login: str) -> User | None:
    """The user of that login, however it is capitalised."""
    return queries.user_by_login(session, login.strip().lower())


def log_in(
    session: Session,
    settings: Settings,
    *,
    login: str,
    password: str,
    address: str,
    now: datetime | None = None,
) -> User:
    """The user with that name and password.

    Raises `LoginFailed`, or `TooManyLogins` once a name or an address has failed too often in the window. A
    password is checked for unknown names too, so that the time of the answer says nothing. What the
    transaction wrote before is committed: nobody waits for the database while a password is hashed.
    """
    now = now or utc_now()
    login = login.strip().lower()[:64]
    keys = {f"login:{login}": settings.login_attempts}
    if address:
        keys[f"address:{address}"] = settings.login_attempts * ADDRESS_FACTOR
    window = timedelta(seconds=settings.login_window_seconds)
    # Always in the same order, name after address: two logins never wait for each other.
    for key in sorted(keys):
        queries.lock_login(session, credentials.digest(key))
    for key, limit in keys.items():
        count, oldest = queries.failures(session, credentials.digest(key), now - window)
        if count >= limit and oldest is not None:
            raise TooManyLogins(retry_after=max(1, ceil((oldest + window - now).total_seconds())))
    user = queries.user_by_login(session, login)
    stored = user.password_hash if user is not None and user.active else None
    # Counted before it is checked: however many come at once, no more than the limit are checked.
    noted = [LoginFailure(key=credentials.digest(key), time=now) for key in keys]
    session.add_all(noted)
    session.flush()
    commit_early(session)
    if not credentials.password_matches(settings, password[: MAX_PASSWORD + 1], stored) or user is None:
        raise LoginFailed
    queries.delete_failures(session, [failure.id for failure in noted])
    queries.forget_failures(session, credentials.digest(f"login:{login}"))
    return user


def open_session(session: Session, settings: Settings, user: User, *, now: datetime | None = None) -> str:
    """Log a browser in; returns the value of its cookie. Expired sessions are swept on the way."""
    now = now or utc_now()
    queries.delete_expired(session, now, now - timedelta(seconds=settings.login_window_seconds))
    key = credentials.new_secret()
    expires = now + timedelta(days=settings.session_days)
    session.add(WebSession(user_id=user.id, key_digest=credentials.digest(key), created=now, expires=expires))
    return credentials.sign_session(settings, key)


def session_user(
    session: Session, settings: Settings, cookie: str, *, now: datetime | None = None
) -> User | None:
    """Who the cookie logs in, or None."""
    key = credentials.read_session(settings, cookie)
    if key is None:
        return None
    found = queries.web_session(session, credentials.digest(key), now or utc_now())
    return found.user if found else None


def close_session(session: Session, settings: Settings, cookie: str) -> None:
    """Log the browser with this cookie out; the cookie is worthless from then on."""
    key = credentials.read_session(settings, cookie)
    if key is not None:
        queries.delete_web_session(session, credentials.digest(key))


def create_token(
    session: Session,
    user: User,
    *,
    name: str,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    expires: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Create an API token; its secret is returned once and not kept. Raises `Invalid`."""
    if not 1 <= len(name) <= 64:
        raise Invalid(field="name", why="1 to 64 characters", why_zh="须为 1 至 64 个字符")
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise Invalid(
            field="scopes", why=f"some of {', '.join(SCOPES)}", why_zh=f"须为 {'、'.join(SCOPES)} 之中"
        )
    secret = credentials.new_secret(credentials.TOKEN_PREFIX)
    token = ApiToken(
        user_id=user.id, name=name, secret_digest=credentials.digest(secret), scopes=sorted(set(scopes)),
        expires=expires,
    )  # fmt: skip
    session.add(token)
    session.flush()
    return token, secret


def bounded_expiry(wanted: datetime | None, parent: ApiToken) -> datetime | None:
    """When a token that another one creates expires: no later than that one. Raises `Invalid`."""
    if parent.expires is None:
        return wanted
    if wanted is not None and wanted > parent.expires:
        raise Invalid(
            field="expires",
            why="no later than the token expires that creates it",
            why_zh="不得晚于创建它的令牌的到期时间",
        )
    return wanted or parent.expires


def token_scopes(session: Session, user: User, token_id: int) -> Sequence[Scope]:
    """What one of the user's tokens may do; raises `NotFound`."""
    token = queries.token_of(session, user, token_id)
    if token is None:
        raise NotFound(what="token")
    return [scope for scope in SCOPES if scope in token.scopes]


def token_user(session: Session, secret: str, *, now: datetime | None = None) -> tuple[User, ApiToken] | None:
    """Whose token this is, with the token; None if it is unknown, revoked or expired."""
    now = now or utc_now()
    found = queries.token(session, credentials.digest(secret), now)
    return (found.user, found) if found else None


def is_stale(token: ApiToken, *, now: datetime | None = None) -> bool:
    """Whether the note of its last use is more than a minute old, so that it is worth a write."""
    return token.last_used is None or (now or utc_now()) - token.last_used >= TOUCH_EVERY


def touch_token(session: Session, token: ApiToken, *, now: datetime | None = None) -> None:
    """Remember that a token was used."""
    queries.touch_token(session, token.id, now or utc_now())


def tokens(session: Session, user: User, *, before: int | None = None, limit: int = 50) -> Sequence[ApiToken]:
    """The user's tokens that were not revoked, newest first, of ids below `before`."""
    return queries.tokens_of(session, user, before=before, limit=limit)


def revoke_token(session: Session, user: User, token_id: int, *, now: datetime | None = None) -> None:
    """Revoke one of the user's tokens; raises `NotFound`."""
    if not queries.revoke_token(session, user, token_id, now or utc_now()):
        raise NotFound(what="token")


def hashed_password(settings: Settings, password: str) -> Hashed:
    """The password as it is stored; takes a tenth of a second. Raises `Invalid` for its length."""
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise Invalid(
            field="password",
            why=f"{MIN_PASSWORD} to {MAX_PASSWORD} characters",
            why_zh=f"须为 {MIN_PASSWORD} 至 {MAX_PASSWORD} 个字符",
        )
    return Hashed(credentials.hash_password(settings, password))
