"""Settings: described, and safe in production."""

import stat
from pathlib import Path

import pytest
from pydantic import ValidationError

from server.settings import Settings


def test_secrets_are_not_defaulted_in_production(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="SOLMARK_SECRET_KEY"):
        Settings(_env_file=None, environment="production", server_home=tmp_path)
    made = Settings(_env_file=None, server_home=tmp_path / "home", public_url="https://x.example")
    assert made.signing_key() == made.signing_key()
    assert stat.S_IMODE((tmp_path / "home" / "secret_key").stat().st_mode) == 0o600
    assert made.cookies_secure


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
