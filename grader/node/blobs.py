"""Contents that a job names by digest: the submission's files, and the assignment bundles kept on disk."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from grader import bundle
from grader.assignment import AssignmentError
from grader.bundle import ArchiveError
from grader.contract import JobSpec
from grader.node.server import Server, ServerError
from grader.node.settings import NodeSettings


class BundleError(RuntimeError):
    """The assignment's archive is not one that this node can use; the text says why."""


class Blobs:
    """Fetches what one job names; `interrupted` is called while waiting, and raises to end that."""

    def __init__(self, settings: NodeSettings, server: Server, interrupted: Callable[[], None]) -> None:
        self._settings = settings
        self._server = server
        self._interrupted = interrupted
        self._folder = settings.home / "bundles"

    def files(self, job: JobSpec) -> dict[str, bytes]:
        """Contents of the submission's files by name, verified; kept nowhere. Raises ServerError."""
        contents: dict[str, bytes] = {}
        for file in job.files:
            data = self._server.blob(file.sha256, job.token, file.size, self._interrupted)
            if len(data) != file.size:
                raise ServerError(f"{file.name}: {len(data)} bytes arrived, the job says {file.size}")
            contents[file.name] = data
        return contents

    def bundle(self, job: JobSpec) -> Path:
        """Folder of the job's assignment on this node's disk, unpacked by whoever needed it first.

        Raises ServerError, or BundleError for an archive that this node cannot use.
        """
        folder = self._folder / job.bundle
        if folder.is_dir():
            os.utime(folder)
            return folder
        data = self._server.blob(job.bundle, job.token, self._settings.bundle_bytes, self._interrupted)
        try:
            bundle.read(data, folder, job.bundle)
        except (ArchiveError, AssignmentError) as error:
            raise BundleError(f"bundle {job.bundle}: {error}") from error
        except OSError:
            if not folder.is_dir():  # Another worker of this node was faster.
                raise
        self._evict(folder)
        return folder

    def _evict(self, keep: Path) -> None:
        """Remove the bundles used longest ago until the rest fits; never the one just fetched."""
        folders = [path for path in self._folder.iterdir() if path.is_dir()]
        entries = sorted((path.stat().st_mtime, _bytes(path), path) for path in folders)
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self._settings.cache_bytes:
                return
            if path != keep:
                shutil.rmtree(path, ignore_errors=True)
                total -= size


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
