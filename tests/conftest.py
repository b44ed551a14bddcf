"""What the whole suite shares: its order, and both databases.

PostgreSQL runs as a throw-away cluster of the installed Debian packages; without them the tests fail.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from benchmarks.postgres import cluster

TEMPLATE = "migrated"
"""Name of the cluster's database that the others are copies of; nobody connects to it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a quiet machine runs by itself, last."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a fresh PostgreSQL cluster on a unix socket; `{name}` stands for a database."""
    with cluster("fsync=off", "max_connections=200") as url:
        yield url


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
