"""Children of a site: what they know of this process's environment."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server import cli, site
from server.embedded import Supervisor
from server.settings import Settings
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


@pytest.mark.parametrize("given", ["", "https://course.example"])
def test_a_site_behind_a_proxy_keeps_the_address_that_people_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    started: dict[str, dict[str, str]] = {}

    def start(_: Supervisor, name: str, _argv: object, *, environment: dict[str, str], **__: object) -> None:
        started[name] = environment

    monkeypatch.setattr(Supervisor, "start", start)
    monkeypatch.setattr(site, "wait_until", lambda *_, **__: None)
    monkeypatch.setattr(site, "_node_token", lambda _: "token")
    monkeypatch.setattr(site.Site, "wait", lambda *_: None)
    monkeypatch.setattr(cli, "_migrate", lambda _: None)
    if given:
        monkeypatch.setenv("SOLMARK_PUBLIC_URL", given)
    settings = Settings(_env_file=None, server_home=tmp_path)
    monkeypatch.setattr(cli, "load", lambda: settings)
    monkeypatch.setattr(site, "start_broker", lambda *_: "redis://127.0.0.1:1/0")
    said = CliRunner().invoke(cli.app, ["serve", "--port", "8123"])
    assert said.exit_code == 0, said.output
    here = "http://127.0.0.1:8123"
    assert here in said.output
    assert started["web"]["SOLMARK_PUBLIC_URL"] == (given or here)
    assert started["worker"]["SOLMARK_SERVER_URL"] == here
