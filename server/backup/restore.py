"""Restores a backup into an empty server."""

from contextlib import closing
from itertools import islice
from pathlib import Path

from alembic.util import CommandError

from server.backup import queries
from server.backup.archive import ArchiveError, Contents, Reader
from server.blobs import BlobStore, MissingBlobError
from server.db.migrate import upgrade
from server.db.session import Database
from server.settings import Settings


def restore(settings: Settings, path: Path) -> Contents:
    """Fill an empty database and the blobs' folder from a backup, then bring the tables to this version.

    The whole file is verified before anything is written, and the rows come in one transaction: all, or none.
    Raises ArchiveError for a damaged file, one of a later version, or a database that is not empty.
    """
    with closing(Reader(path)) as reader:
        _require_empty(settings, reader.contents.revision)
        try:
            upgrade(settings.database, reader.contents.revision)
        except CommandError as error:
            raise ArchiveError(f"{path} is of a later version than this one: {error}") from error
        _restore_blobs(reader, BlobStore(settings.blob_folder))
        _restore_rows(reader, settings)
        upgrade(settings.database)
        return reader.contents


def _require_empty(settings: Settings, revision: str) -> None:
    database = Database(settings.database)
    try:
        with database.engine.connect() as connection:
            filled = queries.filled(connection)
            if filled is not None:
                raise ArchiveError(f"the database is not empty ({filled}): a restore overwrites nothing")
            found = queries.revision(connection)
            if found not in (None, revision):
                raise ArchiveError(
                    f"the database stands at {found}, the backup at {revision}: give one without tables"
                )
    finally:
        database.close()


def _restore_blobs(reader: Reader, store: BlobStore) -> None:
    for sha256 in reader.contents.blobs:
        try:
            store.read(sha256)
        except MissingBlobError:
            store.delete(sha256)  # One that is damaged; a good one would have been read.
            store.put(reader.blob(sha256))


def _restore_rows(reader: Reader, settings: Settings) -> None:
    database = Database(settings.database)
    try:
        with database.writer.begin() as connection:
            if queries.filled(connection) is not None:
                raise ArchiveError("somebody has written to the database meanwhile")
            tables = {table.name: table for table in queries.tables(connection)}
            unknown = reader.contents.tables.keys() - tables.keys()
            if unknown:
                raise ArchiveError(f"no such table: {', '.join(sorted(unknown))}")
            for name, table in tables.items():
                if name in reader.contents.tables:
                    rows = reader.rows(name)
                    while batch := list(islice(rows, queries.BATCH)):
                        queries.fill(connection, table, batch)
                    queries.count_on(connection, table)
    finally:
        database.close()
