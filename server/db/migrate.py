"""Brings a database to this version's tables, and drafts the next migration."""

from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text

from server.db.session import Database

SCRIPTS = Path(__file__).parent / "migrations"
_LOCK = 0x50_1A_4D


def upgrade(url: str, revision: str = "head") -> None:
    """Run the migrations that the database lacks, in one transaction; two processes at once take turns.

    Raises `alembic.util.CommandError` for a revision that this version does not know.
    """
    _run(url, lambda config: command.upgrade(config, revision))


def check(url: str) -> None:
    """Raise `alembic.util.CommandError` if the tables of a migrated database differ from the models."""
    _run(url, command.check)


def draft(url: str, message: str) -> None:
    """Write the migration from the database's tables to the models' into the source tree, to be corrected."""
    number = len(list((SCRIPTS / "versions").glob("*.py"))) + 1
    _run(url, lambda config: command.revision(config, message, autogenerate=True, rev_id=f"{number:04}"))


def _run(url: str, action: Callable[[Config], object]) -> None:
    database = Database(url)
    try:
        with database.writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            config = Config()
            config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
            config.attributes["connection"] = connection
            action(config)
    finally:
        database.close()
