"""Migrations make exactly the tables that the models describe, on both databases."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from server.db.base import Base
from server.db.migrate import check, upgrade
from server.db.session import Database


def test_migrated_tables_are_those_of_the_models(database_url: str) -> None:
    check(database_url)
    database = Database(database_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    database.close()


def test_upgrade_again_changes_nothing(database_url: str) -> None:
    upgrade(database_url)
    check(database_url)


def test_everything_a_team_owns_names_team_and_course() -> None:
    for table in ("submissions", "attempts", "reports", "case_results", "scores"):
        columns = Base.metadata.tables[table].columns
        assert not columns["team_id"].nullable
        assert not columns["course_id"].nullable
