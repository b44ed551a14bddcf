"""The file of a backup: a tar of `tables/NAME.jsonl`, `blobs/SHA256`, and last `contents.json`.

A line of a table is one row, a JSON object of its columns; times are ISO 8601 in UTC. That is the same for
both databases, so that a backup of one can be restored into the other. `contents.json` names every member
with its digest: an archive without it is not whole.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

CONTENTS = "contents.json"
TABLES = "tables/"
BLOBS = "blobs/"
CHUNK_BYTES = 1 << 20


class ArchiveError(Exception):
    """The file is there already, is damaged, or cannot be restored; the text says which."""


class Table(BaseModel):
    """One table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int = Field(ge=0)
    sha256: str


class Contents(BaseModel):
    """What is in an archive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    solmark: str
    """Version of the program that made it."""
    revision: str
    """Migration at which the tables stood."""
    database: str
    """Kind of the database that it was made from; any kind takes it back."""
    made: datetime
    tables: dict[str, Table]
    blobs: dict[str, Annotated[int, Field(ge=0)]]
    """Digest to size."""
    missing: tuple[str, ...] = ()
    """Blobs that rows refer to, and that could not be read when the backup was made."""


class Writer:
    """Writes an archive under another name, and gives it its own when it is whole and on disk."""

    def __init__(self, path: Path) -> None:
        """Raises ArchiveError if there is a file of that name."""
        if path.exists():
            raise ArchiveError(f"{path} exists: a backup overwrites nothing")
        self._path = path
        self._partial = path.with_name(f".{path.name}.{os.getpid()}")
        handle = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(handle, "wb")
        self._tar = tarfile.open(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115

    def add(self, name: str, source: IO[bytes], size: int) -> None:
        """Add a member of that size."""
        member = tarfile.TarInfo(name)
        member.size = size
        member.mode = 0o600
        self._tar.addfile(member, source)

    def finish(self, contents: Contents) -> None:
        """Add the list of contents, and let the file appear. Raises ArchiveError if another one has."""
        data = contents.model_dump_json(indent=1).encode()
        self.add(CONTENTS, io.BytesIO(data), len(data))
        self._tar.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        try:
            os.link(self._partial, self._path)  # Never over another file, also not over one just made.
        except FileExistsError:
            raise ArchiveError(f"{self._path} exists: a backup overwrites nothing") from None
        except OSError:  # Some file systems have no links.
            self._partial.rename(self._path)
            return
        self._partial.unlink()

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._tar.close()
        self._file.close()
        self._partial.unlink(missing_ok=True)


class Reader:
    """An archive that was found whole: every member is there and has the digest that the contents say."""

    def __init__(self, path: Path) -> None:
        """Raises ArchiveError."""
        try:
            self._tar = tarfile.open(path, "r:")  # noqa: SIM115  closed by `close`
        except (OSError, tarfile.TarError) as error:
            raise ArchiveError(f"{path} cannot be read: {error}") from error
        try:
            self._members = {member.name: member for member in self._tar.getmembers() if member.isfile()}
            self.contents = self._contents(path)
            self._verify(path)
        except (OSError, tarfile.TarError) as error:
            self.close()
            raise ArchiveError(f"{path} cannot be read: {error}") from error
        except BaseException:
            self.close()
            raise

    def rows(self, table: str) -> Iterator[Mapping[str, Any]]:
        """The rows of a table, in the order in which they were written."""
        with self._open(f"{TABLES}{table}.jsonl") as file:
            for line in file:
                yield json.loads(line)

    def blob(self, sha256: str) -> bytes:
        """The content of a blob."""
        with self._open(f"{BLOBS}{sha256}") as file:
            return file.read()

    def close(self) -> None:
        """Close the file."""
        self._tar.close()

    def _open(self, name: str) -> IO[bytes]:
        file = self._tar.extractfile(self._members[name])
        if file is None:
            raise ArchiveError(f"{name} is no file")
        return file

    def _digest(self, name: str) -> str:
        digest = hashlib.sha256()
        with self._open(name) as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    def _contents(self, path: Path) -> Contents:
        if CONTENTS not in self._members:
            raise ArchiveError(f"{path} is no backup, or its end is missing")
        try:
            return Contents.model_validate_json(self._open(CONTENTS).read())
        except ValidationError as error:
            raise ArchiveError(f"{path}: this version cannot read its contents: {error}") from error

    def _verify(self, path: Path) -> None:
        expected = {f"{TABLES}{name}.jsonl": table.sha256 for name, table in self.contents.tables.items()}
        expected |= {f"{BLOBS}{sha256}": sha256 for sha256 in self.contents.blobs}
        missing = expected.keys() - self._members.keys()
        if missing:
            raise ArchiveError(f"{path} is damaged: {min(missing)} is missing")
        for name, sha256 in expected.items():
            if self._digest(name) != sha256:
                raise ArchiveError(f"{path} is damaged: {name} has another content than it had")


def encode(row: Mapping[str, Any]) -> bytes:
    """One row as a line."""
    return json.dumps({key: _plain(value) for key, value in row.items()}, ensure_ascii=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return aware.astimezone(UTC).isoformat()
    return value
