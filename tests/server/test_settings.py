"""Settings: described, and safe in production."""

import stat
from pathlib import Path

import pytest
from pydantic import ValidationError

from grader.contract import MAX_LIMIT_SECONDS, QUEUE_SETTINGS, JobLimits
from server.blobs import BlobStore
from server.db.session import Database
from server.grading.lifecycle import DEADLINE_SLACK
from server.settings import Settings
from server.tasks.publisher import CANCEL_SECONDS


def test_secrets_are_not_defaulted_in_production(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="SOLMARK_SECRET_KEY"):
        Settings(_env_file=None, environment="production", server_home=tmp_path)
    made = Settings(_env_file=None, server_home=tmp_path / "home", public_url="https://x.example")
    assert made.signing_key() == made.signing_key()
    assert stat.S_IMODE((tmp_path / "home" / "secret_key").stat().st_mode) == 0o600
    assert made.cookies_secure


def test_nobody_else_looks_into_what_is_made_on_disk(tmp_path: Path) -> None:
    first = Settings(_env_file=None, server_home=tmp_path / "new" / "first")
    Database(first.database).close()
    second = Settings(_env_file=None, server_home=tmp_path / "second")
    second.signing_key()
    third = BlobStore(tmp_path / "third" / "blobs")
    third.put(b"a hidden test")
    fourth = BlobStore(tmp_path / "fourth")
    with fourth.guarded(alone=True):
        made = (first.server_home, second.server_home, third.folder, fourth.folder)
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in made} == {0o700}


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_broker_keeps_its_messages_for_longer_than_any_job(tmp_path: Path) -> None:
    """Else it hands a job out again while it still runs, or forgets that it was cancelled."""
    for too_long in (MAX_LIMIT_SECONDS + 1, float("inf")):
        with pytest.raises(ValidationError, match="job_seconds"):
            Settings(_env_file=None, server_home=tmp_path, job_seconds=too_long)
        with pytest.raises(ValidationError, match="wall_seconds"):
            JobLimits(wall_seconds=too_long)
    longest = MAX_LIMIT_SECONDS + DEADLINE_SLACK
    assert QUEUE_SETTINGS["broker_transport_options"]["visibility_timeout"] > longest
    assert longest < CANCEL_SECONDS
