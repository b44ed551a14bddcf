"""The whole server in one file: every row of the database and every blob that rows refer to."""

from server.backup.archive import ArchiveError, Contents
from server.backup.backup import backup
from server.backup.restore import restore

__all__ = ["ArchiveError", "Contents", "backup", "restore"]
