"""Children of a site: what they know of this process's environment."""

import sys
from pathlib import Path

import pytest

from server.embedded import Supervisor
from server.site import WORKER_INHERITS

SECRETS = {
    "SOLMARK_SECRET_KEY": "hush-key",
    "SOLMARK_DATABASE_URL": "postgresql+psycopg://solmark:hush-database@db/solmark",
    "PGPASSWORD": "hush-pg",
    "SOME_CLOUD_TOKEN": "hush-cloud",
}
PRINT = "import os; print(*(f'{k}={v}' for k, v in os.environ.items()), sep='\\n', flush=True)"


def test_a_worker_knows_no_secret_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SOLMARK_SANDBOX", "bubblewrap")
    with Supervisor(tmp_path) as supervisor:
        for name, inherit in {"all": ("*",), "worker": WORKER_INHERITS}.items():
            child = supervisor.start(
                name, [sys.executable, "-c", PRINT], environment={"SOLMARK_NODE": "n"}, inherit=inherit
            )
            assert child.process is not None
            assert child.process.wait(30) == 0
        everything, told = (supervisor.tail(name, 1000) for name in ("all", "worker"))
    assert all(value in everything for value in SECRETS.values())
    assert "hush" not in told
    assert {"SOLMARK_NODE=n", "SOLMARK_SANDBOX=bubblewrap"} <= set(told.splitlines())
    assert "PATH=" in told
