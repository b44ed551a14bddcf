"""Passwords, tokens, and what is signed or derived with the server's key."""

import hashlib
import hmac
import secrets
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from itsdangerous import BadSignature, URLSafeSerializer

from server.settings import Settings

TOKEN_PREFIX = "smk_"  # noqa: S105  marks our tokens for secret scanners; it is no secret
NODE_PREFIX = "smn_"


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
    except (VerificationError, InvalidHashError):
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


def form_token(settings: Settings, cookie: str) -> str:
    """The token for the forms of one session: it follows from the cookie, which other sites cannot read."""
    return hmac.new(settings.signing_key().encode(), b"form:" + cookie.encode(), hashlib.sha256).hexdigest()


def form_token_matches(settings: Settings, cookie: str, token: str) -> bool:
    """Whether a posted form token belongs to this session."""
    return hmac.compare_digest(form_token(settings, cookie).encode(), token.encode())


def _serializer(settings: Settings) -> URLSafeSerializer:
    return URLSafeSerializer(settings.signing_key(), salt="session")
