"""Settings of the server, from `SOLMARK_*` environment variables or a `.env` file. Each has a description."""

import os
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from grader.contract import MAX_LIMIT_SECONDS


def _default_home() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "solmark" / "server"


class Settings(BaseSettings):
    """All settings. Secrets have no default in production."""

    model_config = SettingsConfigDict(env_prefix="SOLMARK_", env_file=".env", extra="ignore")

    environment: Literal["development", "production"] = Field(
        default="development", description="In production, secrets must be given and cookies need HTTPS."
    )
    server_home: Path = Field(
        default_factory=_default_home, description="Folder of everything the server keeps on disk."
    )
    database_url: str = Field(
        default="",
        description="SQLAlchemy URL; empty: SQLite in the server's home. PostgreSQL: `postgresql+psycopg://`.",
    )
    database_pool: int = Field(
        default=20, ge=1, description="Most connections a process keeps to PostgreSQL."
    )
    broker_url: str = Field(
        default="", description="Redis or Valkey URL; empty: `serve` starts an embedded Valkey server."
    )
    public_url: str = Field(
        default="http://127.0.0.1:8000", description="Address under which people and workers reach the site."
    )
    secret_key: SecretStr = Field(
        default=SecretStr(""),
        description="Signs session cookies; at least 32 characters. Generated in development.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Least level logged."
    )
    log_format: Literal["json", "console"] = Field(default="json", description="Form of a log line.")
    metrics_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token with which `/metrics` is read; empty: only from the server's own machine.",
    )

    prune_blob_days: float = Field(
        default=7, ge=1, description="`prune` keeps a file that nothing refers to for so many days."
    )
    prune_log_days: float = Field(
        default=180,
        ge=1,
        description="`prune` keeps what workers uploaded about attempts, and log files that nobody writes, "
        "for so many days.",
    )
    prune_log_bytes: int = Field(
        default=64 << 20,
        ge=1 << 20,
        description="`prune` cuts a log file that is larger than this to its last half.",
    )

    session_days: int = Field(default=14, ge=1, description="Days until a browser must log in again.")
    login_attempts: int = Field(
        default=10,
        ge=1,
        description="Failed logins of one name, or ten times as many of one address, per window.",
    )
    login_window_seconds: int = Field(default=900, ge=1, description="Window of `login_attempts`.")
    argon2_memory_kib: int = Field(default=65536, ge=8, description="Memory of one password hash.")
    argon2_time: int = Field(default=3, ge=1, description="Passes of one password hash.")

    body_bytes: int = Field(
        default=4 << 20, ge=1024, description="Largest request body (a submission is at most 1 MiB of files)."
    )
    bundle_bytes: int = Field(default=64 << 20, ge=1024, description="Largest assignment bundle.")
    log_blob_bytes: int = Field(
        default=16 << 20, ge=1024, description="Largest log that a worker may upload."
    )

    attempt_limit: int | None = Field(
        default=None,
        ge=1,
        description="Gradings a team may use on an assignment that sets none; empty: no limit.",
    )
    device_seconds_per_day: float | None = Field(
        default=None,
        gt=0,
        description="Device seconds a student may use a day where the assignment sets none; empty: no limit.",
    )
    queued_per_team: int = Field(
        default=20, ge=1, description="Unfinished submissions that one team may have in one assignment."
    )

    max_attempts: int = Field(
        default=3, ge=1, description="Attempts before a submission ends as a grader error."
    )
    pickup_seconds: float = Field(
        default=60, gt=0, description="A published job that no worker claims for so long is published again."
    )
    lease_seconds: float = Field(
        default=60, gt=0, description="A claimed job whose worker is silent for so long is given to another."
    )
    job_seconds: float = Field(
        default=900,
        gt=0,
        le=MAX_LIMIT_SECONDS,
        description="Longest that one attempt may take where the target sets no limit.",
    )
    queue_seconds: float = Field(
        default=3600,
        gt=0,
        description="Longest that a published job may wait for a busy worker before it is published anew.",
    )
    heartbeat_seconds: float = Field(
        default=10, gt=0, description="How often a worker reports that it lives."
    )
    worker_silent_seconds: float = Field(
        default=45,
        gt=0,
        description="A worker silent for so long counts as gone: nothing is published for it.",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.environment == "production" and len(self.secret_key.get_secret_value()) < 32:
            raise ValueError("SOLMARK_SECRET_KEY must be set to at least 32 characters in production")
        if not urlsplit(self.public_url).netloc:
            raise ValueError("SOLMARK_PUBLIC_URL must be an absolute URL such as https://solmark.example.org")
        return self

    @property
    def database(self) -> str:
        """The SQLAlchemy URL in use."""
        return self.database_url or f"sqlite:///{self.server_home / 'solmark.db'}"

    @property
    def blob_folder(self) -> Path:
        """Where files are kept by content hash."""
        return self.server_home / "blobs"

    @property
    def cookies_secure(self) -> bool:
        """Whether cookies are sent over HTTPS only."""
        return urlsplit(self.public_url).scheme == "https"

    def signing_key(self) -> str:
        """The secret key; in development without one, a key made once and kept in the server's home."""
        given = self.secret_key.get_secret_value()
        if given:
            return given
        path = self.server_home / "secret_key"
        self.server_home.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_text()
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
        return path.read_text()


@lru_cache(maxsize=1)
def load() -> Settings:
    """The settings of this process, read once."""
    return Settings()
