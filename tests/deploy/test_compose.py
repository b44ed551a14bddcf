"""The compose file as Compose reads it, held against the programs and settings that it names.

Bringing it up takes images, and minutes: `docker/rehearse.sh` does that.
"""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import compose  # type: ignore[import-untyped]
import pytest
import typer

from grader.node.settings import NodeSettings
from server.cli import app
from server.settings import Settings

ROOT = Path(__file__).parents[2]
PROGRAM = Path(compose.__file__).parent / "docker-compose"
SECRETS = {
    "SOLMARK_SECRET_KEY": "k" * 32,
    "SOLMARK_PUBLIC_URL": "https://course.example",
    "POSTGRES_PASSWORD": "pg",
    "BROKER_PASSWORD": "broker",
}
BASE = {"BASE_IMAGE": f"python@sha256:{'0' * 64}"}
ELSEWHERE = {"SOLMARK_HOME"}
"""Variables that are read outside of both classes of settings."""


def _compose(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "--file", ROOT / "docker-compose.yml", "--env-file", os.devnull, *arguments],
        env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    done = _compose("--profile", "tools", "config", "--format", "json", **SECRETS, **BASE)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)["services"]
    return found


@pytest.mark.parametrize("missing", [*SECRETS, *BASE])
def test_neither_a_secret_nor_the_base_has_a_default(missing: str) -> None:
    given = {name: value for name, value in {**SECRETS, **BASE}.items() if name != missing}
    done = _compose("config", "--quiet", **given)
    assert done.returncode != 0
    assert missing in done.stderr


def test_no_secret_is_in_the_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for line in text.splitlines():
        if re.search(r"(PASSWORD|SECRET|TOKEN)", line) and not line.lstrip().startswith("#"):
            assert "${" in line, line


def test_every_part_of_the_site_is_there(services: dict[str, dict[str, Any]]) -> None:
    assert services.keys() == {
        "postgres", "valkey", "migrate", "web", "tasks", "beat", "publish", "worker",
    }  # fmt: skip
    for name in ("web", "tasks", "beat"):
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    (port,) = services["web"]["ports"]
    assert (port["host_ip"], port["target"]) == ("127.0.0.1", 8000)
    assert not any("ports" in service for name, service in services.items() if name != "web")


def test_every_command_is_one_of_ours(services: dict[str, dict[str, Any]]) -> None:
    group = typer.main.get_command(app)
    for name in ("migrate", "web", "tasks", "beat"):
        program, command, *options = services[name]["command"]
        assert program == "solmark-server"
        found = group.get_command(None, command)  # type: ignore[attr-defined]
        assert found is not None, command
        known = {flag for parameter in found.params for flag in parameter.opts}
        assert {option for option in options if option.startswith("--")} <= known


def test_every_variable_is_a_setting(services: dict[str, dict[str, Any]]) -> None:
    server = {f"SOLMARK_{name.upper()}" for name in Settings.model_fields}
    node = {f"SOLMARK_{name.upper()}" for name in NodeSettings.__dataclass_fields__} | {"SOLMARK_NODE_TOKEN"}
    for name, service in services.items():
        given = {key for key in service.get("environment", {}) if key.startswith("SOLMARK_")}
        assert given <= (node if name == "worker" else server) | ELSEWHERE, name


def test_a_worker_knows_no_password_of_the_database(services: dict[str, dict[str, Any]]) -> None:
    worker = json.dumps(services["worker"])
    assert SECRETS["POSTGRES_PASSWORD"] not in worker.split('"')
    assert "DATABASE" not in worker
    assert SECRETS["SOLMARK_SECRET_KEY"] not in worker
    assert not any(service.get("privileged") for service in services.values())
    assert [name for name, service in services.items() if "cap_add" in service] == ["worker"]


def test_the_settings_make_a_server(
    services: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in services["web"]["environment"].items():
        monkeypatch.setenv(key, value)
    settings = Settings(_env_file=None)
    assert settings.environment == "production"
    assert settings.database.startswith("postgresql+psycopg://")
    assert settings.cookies_secure


@pytest.mark.parametrize("name", ["server", "worker"])
def test_a_dockerfile_copies_what_is_there(name: str) -> None:
    text = (ROOT / "docker" / f"{name}.Dockerfile").read_text().replace("\\\n", " ")
    ignored = (ROOT / ".dockerignore").read_text().split()
    copied = [shlex.split(line)[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    assert copied
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists(), source
        assert source not in ignored


def test_images_are_built_on_a_digest(services: dict[str, dict[str, Any]]) -> None:
    bases = {service["build"]["args"]["BASE"] for service in services.values() if "build" in service}
    assert bases == {BASE["BASE_IMAGE"]}
    check = re.compile(
        r'^ARG BASE\nFROM \$\{BASE\}\n# .*\nARG BASE\nRUN (case "\$\{BASE\}" in .*)$', re.MULTILINE
    )
    files = list((ROOT / "docker").rglob("*.Dockerfile"))
    assert len(files) == 4
    for file in files:
        found = check.search(file.read_text())
        assert found is not None, file
        ends = [
            subprocess.run(
                ["sh", "-c", found[1]], env={"BASE": base}, capture_output=True, check=False
            ).returncode
            for base in (BASE["BASE_IMAGE"], f"sha256:{'0' * 64}", "python:3.12-slim-bookworm", "")
        ]
        assert ends == [0, 0, 1, 1], file
