"""What the whole suite shares: its order, and both databases.

PostgreSQL runs as a throw-away cluster of the installed Debian packages; without them the tests fail.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

TEMPLATE = "migrated"
"""Name of the cluster's database that the others are copies of; nobody connects to it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a quiet machine runs by itself, last."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)


def _postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.fail("PostgreSQL is missing: apt-get install postgresql", pytrace=False)
    return found[-1].parent


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a fresh PostgreSQL cluster on a unix socket; `{name}` stands for a database."""
    programs = _postgres_programs()
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="solmark-pg-"))
    if user:
        shutil.chown(folder, user)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [programs / program, *arguments],
            user=user,
            group=user,
            extra_groups=[] if user else None,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        run("initdb", "-D", str(data), "-U", "solmark", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
        # Its output must not keep our pipe open, so it goes to a file.
        run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://solmark@/{{name}}?host={folder}"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _on_postgres(postgres: str, statement: str) -> None:
    admin = create_engine(postgres.format(name="postgres"), isolation_level="AUTOCOMMIT")
    try:
        with admin.connect() as connection:
            connection.execute(text(statement))
    finally:
        admin.dispose()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database without a row in it, to be copied."""
    from server.db.migrate import upgrade

    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgres_template(postgres: str) -> str:
    """URL of the cluster, in which the migrated database `TEMPLATE` lies."""
    from server.db.migrate import upgrade

    _on_postgres(postgres, f"CREATE DATABASE {TEMPLATE}")
    upgrade(postgres.format(name=TEMPLATE))
    return postgres


NewDatabase = Callable[[str], str]


@pytest.fixture(scope="session")
def new_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewDatabase:
    """Makes a migrated, empty database of a kind, `sqlite` or `postgresql`, and returns its URL."""

    def create(kind: str) -> str:
        if kind == "postgresql":
            cluster: str = request.getfixturevalue("postgres_template")
            name = f"test_{uuid4().hex}"
            _on_postgres(cluster, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
            return cluster.format(name=name)
        template: Path = request.getfixturevalue("sqlite_template")
        file = tmp_path_factory.mktemp("database") / "solmark.db"
        shutil.copy(template, file)
        return f"sqlite:///{file}"

    return create


@pytest.fixture(scope="session")
def sqlite_migrated(new_database: NewDatabase) -> str:
    """URL of the one SQLite database that most tests of the server share, each clearing it first."""
    return new_database("sqlite")


@pytest.fixture(scope="session")
def postgres_migrated(new_database: NewDatabase) -> str:
    """URL of the one PostgreSQL database that most tests of the server share, each clearing it first."""
    return new_database("postgresql")
