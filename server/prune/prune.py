"""One pass of pruning. It can be run at any time, beside the server, and any number of times."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy.exc import IntegrityError

from server.blobs import BlobStore
from server.db.base import utc_now
from server.db.session import Database
from server.prune import queries
from server.settings import Settings

_DIGEST = re.compile(r"[0-9a-f]{64}")
_DAY = 86400.0


@dataclass(frozen=True)
class Pruned:
    """What was removed, or would be: numbers, and bytes on disk."""

    uploaded_logs: int
    """What workers uploaded about attempts long ago."""
    sessions: int
    """Logins of browsers that have expired."""
    login_failures: int
    blobs: int
    """Files to which no row refers; of a dry run, without those that only the old logs refer to."""
    blob_bytes: int
    log_files: int
    log_bytes: int


def prune(settings: Settings, *, dry_run: bool = False, now: datetime | None = None) -> Pruned:
    """Remove what the settings `prune_*` call old; never what a row refers to. A dry run counts."""
    now = now or utc_now()
    store = BlobStore(settings.blob_folder)
    with closing(Database(settings.database)) as database, store.guarded(alone=True):
        rows = {
            "uploaded_logs": queries.old_logs(now - timedelta(days=settings.prune_log_days)),
            "sessions": queries.expired_sessions(now),
            "login_failures": queries.old_failures(now - timedelta(seconds=settings.login_window_seconds)),
        }
        with database.read() if dry_run else database.begin() as session:
            counts = {name: queries.count(session, found) for name, found in rows.items()}
            if not dry_run:
                for found in rows.values():
                    queries.remove(session, found)
        before = now - timedelta(days=settings.prune_blob_days)
        sizes = [*_unused(database, store, before, dry_run), *_strays(database, store, before, dry_run)]
    cut = list(_logs(settings, now, dry_run))
    return Pruned(**counts, blobs=len(sizes), blob_bytes=sum(sizes), log_files=len(cut), log_bytes=sum(cut))


def _unused(database: Database, store: BlobStore, before: datetime, dry_run: bool) -> Iterator[int]:
    """Blobs whose note nobody refers to; gives their sizes."""
    with database.read() as session:
        found = queries.unused(session, before)
    for sha256, size in found:
        if not dry_run:
            try:
                with database.begin() as session:
                    if not queries.take(session, sha256):
                        continue
                    # While the note is held: who hands in the same content waits, and stores it anew.
                    store.delete(sha256)
            except IntegrityError:
                continue  # Somebody has just referred to it.
        yield size


def _strays(database: Database, store: BlobStore, before: datetime, dry_run: bool) -> Iterator[int]:
    """Files that a crash has left: halves, and contents whose note was never committed; gives their sizes."""
    for path in store.folder.glob("[0-9a-f][0-9a-f]/*"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        if status.st_mtime >= before.timestamp():
            continue
        if _DIGEST.fullmatch(path.name):
            with database.read() if dry_run else database.begin() as session:
                if queries.is_noted(session, path.name):
                    continue
                if not dry_run:
                    if not queries.take_unnoted(session, path.name):
                        continue
                    store.delete(path.name)
        elif path.name.startswith(".new-"):
            if time.time() - status.st_mtime < _DAY:
                continue  # Somebody may be writing it, whatever `now` was given.
            if not dry_run:
                path.unlink(missing_ok=True)
        else:
            continue  # Not ours.
        yield status.st_size


def _logs(settings: Settings, now: datetime, dry_run: bool) -> Iterator[int]:
    """Log files of an embedded site: old ones go, large ones keep their end; gives the bytes that go."""
    for path in sorted((settings.server_home / "logs").glob("*.log")):
        status = path.stat()
        if now.timestamp() - status.st_mtime > settings.prune_log_days * _DAY:
            if not dry_run:
                path.unlink()
            yield status.st_size
        elif status.st_size > settings.prune_log_bytes:
            kept = settings.prune_log_bytes // 2
            if not dry_run:
                _keep_end(path, kept)
            yield status.st_size - kept


def _keep_end(path: Path, size: int) -> None:
    """Cut a file that a process appends to, at a line's beginning. What it writes meanwhile may be lost."""
    with path.open("r+b") as file:
        file.seek(-size, os.SEEK_END)
        file.readline()
        end = file.read()
        file.seek(0)
        file.truncate()
        file.write(end)
