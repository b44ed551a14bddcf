"""Passwords, secrets, cookies, form tokens, and where a request came from."""

import hashlib
import hmac
import secrets
from functools import lru_cache
from urllib.parse import urlsplit

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError
from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import HTTPConnection
from starlette.responses import Response

from server.settings import Settings

SESSION_COOKIE = "solmark_session"
FORM_FIELD = "form_token"
FORM_HEADER = "X-Solmark-Form"
TOKEN_PREFIX = "smk_"  # noqa: S105  marks our tokens for secret scanners; it is no secret
NODE_PREFIX = "smn_"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

CONTENT_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: browsers would then send `Origin: null` with forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def new_secret(prefix: str = "") -> str:
    """A fresh secret of 256 bits for an address, header or cookie."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored of a random secret: it has too much entropy to be guessed, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


@lru_cache(maxsize=4)
def _hasher(memory_kib: int, time: int) -> PasswordHasher:
    return PasswordHasher(time_cost=time, memory_cost=memory_kib, parallelism=1)


@lru_cache(maxsize=4)
def _decoy(memory_kib: int, time: int) -> str:
    return _hasher(memory_kib, time).hash(secrets.token_hex(16))


def hash_password(settings: Settings, password: str) -> str:
    """An argon2id hash with the parameters of the settings."""
    return _hasher(settings.argon2_memory_kib, settings.argon2_time).hash(password)


def password_matches(settings: Settings, password: str, stored: str | None) -> bool:
    """Check a password. Without a stored hash a decoy is checked, so that both answers take as long."""
    cost = (settings.argon2_memory_kib, settings.argon2_time)
    try:
        _hasher(*cost).verify(stored or _decoy(*cost), password)
    except (VerifyMismatchError, InvalidHashError):
        return False
    return stored is not None


def sign_session(settings: Settings, key: str) -> str:
    """The cookie's value for a session key."""
    return str(_serializer(settings).dumps(key))


def read_session(settings: Settings, cookie: str) -> str | None:
    """The session key in a cookie, or None if we did not sign it."""
    try:
        key = _serializer(settings).loads(cookie)
    except BadSignature:
        return None
    return key if isinstance(key, str) else None


def set_session_cookie(response: Response, settings: Settings, value: str) -> None:
    """Log the browser in: not readable by scripts, not sent with requests that other sites start."""
    response.set_cookie(
        SESSION_COOKIE, value, max_age=settings.session_days * 86400, path="/", httponly=True, samesite="lax",
        secure=settings.cookies_secure,
    )  # fmt: skip


def clear_session_cookie(response: Response, settings: Settings) -> None:
    """Log the browser out."""
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="lax", secure=settings.cookies_secure
    )


def form_token(settings: Settings, cookie: str) -> str:
    """The token for the forms of one session: it follows from the cookie, which other sites cannot read."""
    return hmac.new(settings.signing_key().encode(), b"form:" + cookie.encode(), hashlib.sha256).hexdigest()


def form_token_matches(settings: Settings, cookie: str, token: str) -> bool:
    """Whether a posted form token belongs to this session."""
    return hmac.compare_digest(form_token(settings, cookie).encode(), token.encode())


def same_origin(settings: Settings, request: HTTPConnection) -> bool | None:
    """Whether our page sent the request: by `Origin` or `Sec-Fetch-Site`; None if neither came."""
    origin = request.headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc in {request.headers.get("host"), urlsplit(settings.public_url).netloc}
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    return None


def _serializer(settings: Settings) -> URLSafeSerializer:
    return URLSafeSerializer(settings.signing_key(), salt="session")
