"""Pruning removes what is old and useless, and never what a row refers to, whoever hands in meanwhile."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from server import settings as all_settings
from server.accounts import service as accounts
from server.blobs import BlobStore, MissingBlobError, keep
from server.cli import app
from server.courses import service as courses
from server.db.base import Base, utc_now
from server.db.models import AttemptBlob, Blob
from server.db.session import Database
from server.grading import service as grading
from server.prune import Pruned, prune
from server.settings import Settings
from server.submissions import service as submissions

NOTHING = Pruned(0, 0, 0, 0, 0, 0, 0)


def referred(database: Database) -> set[str]:
    """Digests in all columns that refer to blobs."""
    with database.read() as session:
        return {
            sha256
            for table in Base.metadata.sorted_tables
            for column in table.columns
            for key in column.foreign_keys
            if key.column.table.name == "blobs"
            for sha256 in session.scalars(select(column))
        }


def test_only_what_nothing_refers_to_goes_and_only_when_it_is_old(
    settings: Settings,
    database: Database,
    blobs: BlobStore,
    submit: Callable[..., str],
    grader: Any,
    world: Any,
) -> None:
    submit("ann")
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    log = b"what the worker said"
    with database.begin() as session:
        node = grading.node_by_token(session, world.node_token)
        assert node is not None
        sha256 = blobs.put(log)
        grading.store_log(session, blobs, grading.claimed_attempt(session, node, spec.token), sha256, log)
        unused = keep(session, blobs, b"nobody's")
    stray = blobs.put(b"its note was never committed")
    half = blobs.path(stray).with_name(".new-half")
    half.write_bytes(b"its note")
    foreign = blobs.path(stray).with_name("notes.txt")
    foreign.write_bytes(b"an operator's")
    kept = referred(database)
    assert {world.digest, sha256} < kept
    assert prune(settings) == NOTHING
    assert blobs.has(unused)

    def age(path: Path) -> None:
        then = (utc_now() - timedelta(days=40)).timestamp()
        os.utime(path, (then, then))

    for path in (blobs.path(stray), half, foreign):
        age(path)
    later = utc_now() + timedelta(days=30)
    counted = prune(settings, dry_run=True, now=later)
    assert counted == Pruned(0, 0, 0, 3, len(b"nobody's") + len(b"its note was never committed") + 8, 0, 0)
    assert blobs.has(unused)
    assert half.exists()
    assert prune(settings, now=later) == counted
    assert not blobs.has(unused)
    assert not blobs.has(stray)
    assert not half.exists()
    assert foreign.exists()
    assert referred(database) == kept
    for name in kept:
        blobs.read(name)

    # When the logs are old by policy, their blobs have nobody any more.
    much_later = utc_now() + timedelta(days=200)
    assert prune(settings, dry_run=True, now=much_later).uploaded_logs == 1
    pruned = prune(settings, now=much_later)
    assert (pruned.uploaded_logs, pruned.blobs, pruned.blob_bytes) == (1, 1, len(log))
    assert not blobs.has(sha256)
    with database.read() as session:
        assert not session.scalars(select(AttemptBlob)).all()
        assert set(session.scalars(select(Blob.sha256))) == kept - {sha256}


def test_who_hands_in_a_content_that_is_being_pruned_does_not_lose_it(
    settings: Settings, database: Database, blobs: BlobStore, world: Any
) -> None:
    settings = settings.model_copy(update={"queued_per_team": 10_000})
    contents = [f"# {number}\ndef solve(x, y): ...\n".encode() for number in range(40)]
    with database.begin() as session:
        for content in contents:
            keep(session, blobs, content)
    failures: list[BaseException] = []
    stop = threading.Event()

    def hand_in(login: str) -> None:
        try:
            for content in contents:
                own = f"# {uuid4()}".encode()
                with database.begin() as session:
                    user = accounts.find_user(session, login)
                    assert user is not None
                    submissions.create(
                        session, blobs, settings, user=user, course=courses.get_course(session, "demo"),
                        name="kernels/double", files={"solution.py": content, "other.py": own},
                    )  # fmt: skip
        except BaseException as error:  # noqa: BLE001  told by the test
            failures.append(error)

    def remove() -> None:
        while not stop.is_set():
            prune(settings, now=utc_now() + timedelta(days=30))

    pruner = threading.Thread(target=remove)
    students = [threading.Thread(target=hand_in, args=(login,)) for login in ("ann", "bob")]
    for thread in (pruner, *students):
        thread.start()
    for thread in students:
        thread.join()
    stop.set()
    pruner.join()
    assert not failures
    assert len(referred(database)) > len(contents)
    for sha256 in referred(database):
        try:
            blobs.read(sha256)
        except MissingBlobError:
            pytest.fail(f"{sha256} is lost")


def test_expired_sessions_and_old_failures_go(settings: Settings, database: Database, world: Any) -> None:
    with database.begin() as session:
        user = accounts.find_user(session, "ann")
        assert user is not None
        accounts.open_session(session, settings, user)
        accounts.open_session(session, settings, user, now=utc_now() + timedelta(days=10))
    pruned = prune(settings, now=utc_now() + timedelta(days=settings.session_days + 1))
    assert pruned.sessions == 1


def test_log_files_keep_their_end(settings: Settings, database: Database) -> None:
    settings = settings.model_copy(update={"prune_log_bytes": 1 << 20})
    logs = settings.server_home / "logs"
    logs.mkdir()
    large, old, small = logs / "web.log", logs / "gone.log", logs / "tasks.log"
    line = b"x" * 99 + b"\n"
    with large.open("ab") as writing:  # As a running process holds it.
        writing.write(line * 30_000)
        writing.flush()
        small.write_bytes(line)
        old.write_bytes(line)
        then = (utc_now() - timedelta(days=400)).timestamp()
        os.utime(old, (then, then))
        before = large.stat().st_size
        counted = prune(settings, dry_run=True)
        assert (counted.log_files, large.stat().st_size) == (2, before)
        assert prune(settings) == counted
        writing.write(b"the last line\n")
    kept = large.read_bytes()
    assert len(kept) <= (1 << 19) + 14
    assert kept.endswith(line + b"the last line\n")
    assert kept.startswith(line)
    assert small.exists()
    assert not old.exists()
    assert prune(settings) == NOTHING


def test_the_command_says_what_it_would_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLMARK_SERVER_HOME", str(tmp_path))
    monkeypatch.delenv("SOLMARK_DATABASE_URL", raising=False)
    monkeypatch.setattr("server.cli.load", all_settings.load.__wrapped__)
    assert CliRunner().invoke(app, ["migrate"]).exit_code == 0
    (tmp_path / "blobs" / "ab").mkdir(parents=True)
    half = tmp_path / "blobs" / "ab" / ".new-1"
    half.write_bytes(b"half")
    os.utime(half, (0, 0))
    said = CliRunner().invoke(app, ["prune", "--dry-run"])
    assert said.output.startswith("would remove 1 files (4 bytes)"), said.output
    assert half.exists()
    said = CliRunner().invoke(app, ["prune"])
    assert said.output.startswith("removed 1 files (4 bytes)")
    assert not half.exists()


def test_the_commands_output_is_one_sentence(tmp_path: Path) -> None:
    environment = {**os.environ, "SOLMARK_SERVER_HOME": str(tmp_path), "SOLMARK_DATABASE_URL": ""}

    def say(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "server.cli", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    say("migrate")
    said = say("prune", "--dry-run")
    (line,) = said.stdout.splitlines()
    assert line.startswith("would remove 0 files (0 bytes)")
    assert said.stderr == ""
