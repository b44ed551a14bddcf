"""Makes a backup while the server serves."""

import hashlib
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO

from sqlalchemy import Connection
from sqlalchemy import Table as SqlTable

from server.backup import queries
from server.backup.archive import BLOBS, TABLES, ArchiveError, Contents, Table, Writer, encode
from server.blobs import BlobStore, MissingBlobError
from server.db.base import utc_now
from server.db.models import Blob
from server.db.session import Database
from server.settings import Settings


def backup(settings: Settings, path: Path) -> Contents:
    """Write all rows, as of one moment, and all blobs that they name to a new file.

    The server may go on meanwhile: its later writes are not in the backup, and no blob of that moment goes
    away, since blobs never change and pruning waits. A blob that cannot be read is left out and named in
    `Contents.missing`. Raises ArchiveError, leaving no file, if there is such a file or no migrated database.
    """
    writer = Writer(path)
    database = Database(settings.database)
    try:
        blobs = BlobStore(settings.blob_folder)
        with blobs.guarded(alone=False), database.engine.connect() as connection:
            contents = _write(writer, connection, blobs, path.parent)
        writer.finish(contents)
    except BaseException:
        with suppress(OSError):
            writer.abandon()
        raise
    finally:
        database.close()
    return contents


def _write(writer: Writer, connection: Connection, blobs: BlobStore, scratch: Path) -> Contents:
    queries.snapshot(connection)
    revision = queries.revision(connection)
    if revision is None:
        raise ArchiveError("the database has no tables: run `solmark-server migrate` first")
    tables: dict[str, Table] = {}
    named: list[str] = []
    made = utc_now()
    for table in queries.tables(connection):
        with tempfile.TemporaryFile(dir=scratch) as file:
            tables[table.name] = _copy(connection, table, file, named)
            size = file.tell()
            file.seek(0)
            writer.add(f"{TABLES}{table.name}.jsonl", file, size)
    sizes: dict[str, int] = {}
    missing = []
    for sha256 in named:
        try:
            blobs.read(sha256)  # Verified: what was damaged must not pass as saved.
        except MissingBlobError:
            missing.append(sha256)
            continue
        with blobs.path(sha256).open("rb") as file:
            sizes[sha256] = blobs.path(sha256).stat().st_size
            writer.add(f"{BLOBS}{sha256}", file, sizes[sha256])
    return Contents(
        solmark=version("solmark"),
        revision=revision,
        database=connection.dialect.name,
        made=made,
        tables=tables,
        blobs=sizes,
        missing=tuple(missing),
    )


def _copy(connection: Connection, table: SqlTable, file: IO[bytes], named: list[str]) -> Table:
    digest, count = hashlib.sha256(), 0
    for row in queries.rows(connection, table):
        line = encode(row)
        digest.update(line)
        file.write(line)
        count += 1
        if table.name == Blob.__tablename__:
            named.append(row["sha256"])
    return Table(rows=count, sha256=digest.hexdigest())
