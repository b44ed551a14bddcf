"""A backup holds every row and every file, and comes back as it was, into either kind of database."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, select, text
from typer.testing import CliRunner

from server import settings as all_settings
from server.accounts import service as accounts
from server.backup import ArchiveError, backup, restore
from server.blobs import BlobStore
from server.cli import app
from server.courses import service as courses
from server.db.base import Base
from server.db.migrate import upgrade
from server.db.models import AssignmentVersion, Blob, Submission, SubmissionFile
from server.db.session import Database
from server.errors import LoginFailed
from server.grading import service as grading
from server.settings import Settings
from server.submissions import service as submissions

Rows = dict[str, list[dict[str, Any]]]


def rows(database: Database) -> Rows:
    """Every row of every table."""
    with database.read() as session:
        return {
            table.name: [
                dict(row)
                for row in session.execute(select(table).order_by(*table.primary_key.columns)).mappings()
            ]
            for table in Base.metadata.sorted_tables
        }


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if len(path.name) == 64}


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Iterator[Settings]:
    """Settings of another server, whose database of either kind has no tables."""
    home = tmp_path / "other"
    if request.param == "sqlite":
        yield settings.model_copy(update={"server_home": home, "database_url": f"sqlite:///{home / 'db'}"})
        return
    template: str = request.getfixturevalue("postgres")
    admin = create_engine(template.format(name="postgres"), isolation_level="AUTOCOMMIT")
    name = f"restore_{uuid4().hex[:12]}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield settings.model_copy(update={"server_home": home, "database_url": template.format(name=name)})
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name}"))
    admin.dispose()


@pytest.fixture
def lived(
    database: Database,
    blobs: BlobStore,
    settings: Settings,
    world: Any,
    submit: Callable[..., str],
    grader: Any,
) -> None:
    """A course in which all sorts of things have happened."""
    submit("ann")
    grader.grade()
    submit("bob", files={"solution.py": "# 你好\ndef solve(x, y):\n    pass\n".encode(), "more.py": b"\n#\n"})
    with database.begin() as session:
        user = accounts.find_user(session, "ann")
        assert user is not None
        accounts.open_session(session, settings, user)
        accounts.create_token(session, user, name="laptop")
    with pytest.raises(LoginFailed), database.begin() as session:
        accounts.log_in(session, settings, login="bob", password="not his", address="203.0.113.5")
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    with database.begin() as session:
        node = grading.node_by_token(session, world.node_token)
        assert node is not None
        attempt = grading.claimed_attempt(session, node, spec.token)
        log = b"what the worker said"
        grading.store_log(session, blobs, attempt, BlobStore(settings.server_home / "x").put(log), log)
    shutil.rmtree(settings.server_home / "x")


def test_every_row_and_every_file_comes_back(
    lived: None, settings: Settings, database: Database, empty: Settings, tmp_path: Path
) -> None:
    made = backup(settings, tmp_path / "save.tar")
    assert not made.missing
    assert (tmp_path / "save.tar").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if "save" in path.name] == ["save.tar"]
    assert restore(empty, tmp_path / "save.tar") == made
    other = Database(empty.database)
    try:
        before, after = rows(database), rows(other)
        assert before.keys() == after.keys()
        for name, found in before.items():
            assert after[name] == found, name
        assert all(before.values()), "a table without a row could be left out unseen"
        assert files(empty.blob_folder) == files(settings.blob_folder)
        # It is a server again: new rows get new numbers.
        store = BlobStore(empty.blob_folder)
        with other.begin() as session:
            ann = accounts.find_user(session, "ann")
            assert ann is not None
            created = submissions.create(
                session, store, empty, user=ann, course=courses.get_course(session, "demo"),
                name="kernels/double", files={"solution.py": b"def solve(x, y): ...\n"},
            )  # fmt: skip
            assert created.id > max(row["id"] for row in before["submissions"])
            assert created.number == 2
    finally:
        other.close()


def test_a_backup_is_of_one_moment_while_students_hand_in(
    settings: Settings, database: Database, blobs: BlobStore, submit: Callable[..., str], tmp_path: Path
) -> None:
    settings = settings.model_copy(update={"queued_per_team": 10_000})
    answered: list[str] = [submit("ann")]
    stop = threading.Event()

    def hand_in() -> None:
        while not stop.is_set():
            with database.begin() as session:
                bob = accounts.find_user(session, "bob")
                assert bob is not None
                content = f"# {uuid4()}\ndef solve(x, y): ...\n".encode()
                created = submissions.create(
                    session, blobs, settings, user=bob, course=courses.get_course(session, "demo"),
                    name="kernels/double", files={"solution.py": content},
                )  # fmt: skip
            answered.append(created.public_id)

    threads = [threading.Thread(target=hand_in) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        while len(answered) < 10:
            stop.wait(0.01)
        before = list(answered)
        backup(settings, tmp_path / "save.tar")
        while len(answered) < len(before) + 5:
            stop.wait(0.01)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    home = tmp_path / "other"
    other = settings.model_copy(update={"server_home": home, "database_url": f"sqlite:///{home / 'db'}"})
    restore(other, tmp_path / "save.tar")
    restored = Database(other.database)
    try:
        with restored.read() as session:
            found = {row.public_id: row for row in session.scalars(select(Submission))}
            assert set(before) <= found.keys()
            assert len(found) < len(answered)
            for row in found.values():
                assert len(row.files) == 1
            store = BlobStore(other.blob_folder)
            for sha256 in session.scalars(select(SubmissionFile.sha256)):
                store.read(sha256)
            assert set(session.scalars(select(Blob.sha256))) == set(files(other.blob_folder))
    finally:
        restored.close()


def test_nothing_is_overwritten(lived: None, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "save.tar"
    path.write_bytes(b"precious")
    with pytest.raises(ArchiveError, match="exists"):
        backup(settings, path)
    assert path.read_bytes() == b"precious"
    backup(settings, tmp_path / "second.tar")
    with pytest.raises(ArchiveError, match="not empty"):
        restore(settings, tmp_path / "second.tar")


@pytest.mark.parametrize("damage", ["a byte of a row", "a byte of a file", "the end"])
def test_a_damaged_archive_is_refused_before_anything_is_written(
    lived: None, settings: Settings, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "save.tar"
    backup(settings, path)
    data = bytearray(path.read_bytes())
    if damage == "the end":
        del data[len(data) // 2 :]
    else:
        at = data.index(b'"login"' if damage == "a byte of a row" else b"def solve")
        data[at + 3] ^= 1
    path.write_bytes(data)
    home = tmp_path / "other"
    other = settings.model_copy(update={"server_home": home, "database_url": f"sqlite:///{home / 'db'}"})
    with pytest.raises(ArchiveError, match=r"damaged|its end is missing|cannot be read"):
        restore(other, path)
    assert not home.exists()


def test_a_file_that_is_missing_or_damaged_is_named_and_the_rest_is_saved(
    lived: None, settings: Settings, database: Database, blobs: BlobStore, tmp_path: Path
) -> None:
    with database.read() as session:
        lost, spoilt = session.scalars(select(SubmissionFile.sha256).limit(2))
        kept = session.scalars(select(AssignmentVersion.digest)).one()
    blobs.delete(lost)
    blobs.path(spoilt).write_bytes(b"something else")
    made = backup(settings, tmp_path / "save.tar")
    assert set(made.missing) == {lost, spoilt}
    assert kept in made.blobs


def test_an_older_backup_is_brought_to_this_version(tmp_path: Path) -> None:
    old = Settings(_env_file=None, server_home=tmp_path / "old")
    upgrade(old.database, "0001")
    engine = create_engine(old.database)
    with engine.begin() as connection:
        insert = "INSERT INTO nodes (name, token_digest, state, created) VALUES ('n', 'd', 'active', :now)"
        connection.execute(text(insert), {"now": "2026-11-30 12:00:00.000000"})
    engine.dispose()
    assert backup(old, tmp_path / "save.tar").revision == "0001"
    new = Settings(_env_file=None, server_home=tmp_path / "new")
    restore(new, tmp_path / "save.tar")
    database = Database(new.database)
    try:
        assert [row["name"] for row in rows(database)["nodes"]] == ["n"]
    finally:
        database.close()


def test_it_is_one_command_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOLMARK_DATABASE_URL", raising=False)
    monkeypatch.setattr("server.cli.load", all_settings.load.__wrapped__)
    archive = str(tmp_path / "save.tar")

    def output(home: str, *arguments: str, code: int = 0) -> str:
        monkeypatch.setenv("SOLMARK_SERVER_HOME", str(tmp_path / home))
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, result.output
        return result.output

    assert "migrate" in output("first", "backup", archive, code=1)
    assert not Path(archive).exists()
    output("first", "migrate")
    output("first", "create-admin", "ada", "--generate")
    saved = output("first", "backup", archive)
    assert saved.startswith("saved 1 rows of ")
    assert "exists" in output("first", "backup", archive, code=1)
    assert output("second", "restore", archive).removeprefix("restored") == saved.removeprefix("saved")
    assert "not empty" in output("second", "restore", archive, code=1)
