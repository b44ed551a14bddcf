"""Files kept on disk under their SHA-256: written once, never changed, verified when read."""

import errno
import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from server.db.base import utc_now
from server.db.models import Blob
from server.errors import Unavailable

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_log = structlog.get_logger(__name__)


class MissingBlobError(LookupError):
    """No content of that digest is stored, or what is stored was damaged."""


class BlobStore:
    """A folder of blobs. Safe for several processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, sha256: str) -> Path:
        """Where a blob of that digest would lie; raises `MissingBlobError` for what is no digest."""
        if not _DIGEST.fullmatch(sha256):
            raise MissingBlobError(sha256[:80])
        return self.folder / sha256[:2] / sha256

    def put(self, data: bytes) -> str:
        """Store a content and return its digest. On return it is on disk, even after a power cut.

        What lies there already is verified: who hands a content in again heals one that was damaged. Raises
        `Unavailable` where the disk is full; nothing of it is left then.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        path = self.path(sha256)
        try:
            self.read(sha256)
            return sha256
        except MissingBlobError:
            pass
        try:
            self._write(path, data)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            _log.error("disk full", folder=str(self.folder), bytes=len(data))
            raise Unavailable(what="storage") from error
        return sha256

    def _make(self) -> None:
        """Everybody's files and the hidden tests lie there: nobody else may look in."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _write(self, path: Path, data: bytes) -> None:
        self._make()
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, sha256: str) -> bytes:
        """The content, verified; raises `MissingBlobError`."""
        try:
            data = self.path(sha256).read_bytes()
        except FileNotFoundError:
            raise MissingBlobError(sha256) from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise MissingBlobError(f"{sha256} is damaged on disk")
        return data

    def has(self, sha256: str) -> bool:
        """Whether a blob of that digest is stored."""
        return self.path(sha256).exists()

    @contextmanager
    def guarded(self, *, alone: bool) -> Iterator[None]:
        """Wait for the lock of those who read all blobs (not `alone`), or of who removes some."""
        self._make()
        with (self.folder / ".lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield

    def delete(self, sha256: str) -> None:
        """Remove a blob that nothing refers to any more."""
        self.path(sha256).unlink(missing_ok=True)


def keep(session: Session, store: BlobStore, data: bytes) -> str:
    """Store a content and note it in the database; returns its digest. What has no note may be pruned."""
    sha256 = store.put(data)
    insert = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert
    values = {"sha256": sha256, "size": len(data), "created": utc_now()}
    held = select(Blob.sha256).where(Blob.sha256 == sha256).with_for_update(read=True, key_share=True)
    while session.scalar(held) is None:
        session.execute(insert(Blob).values(values).on_conflict_do_nothing())
    # Until here pruning may have removed it. From here on the note is ours, and what has one stays.
    if not store.has(sha256):
        store.put(data)
    return sha256
