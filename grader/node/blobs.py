"""Contents that a job names by digest: the submission's files, and the assignment bundles kept on disk."""

import os
from collections.abc import Callable
from pathlib import Path

from grader.contract import JobSpec
from grader.node.server import Server, ServerError
from grader.node.settings import NodeSettings


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
        """Path of the assignment bundle on this node's disk, verified by whoever put it there."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / job.bundle
        if path.is_file():
            os.utime(path)
            return path
        data = self._server.blob(job.bundle, job.token, self._settings.bundle_bytes, self._interrupted)
        partial = self._folder / f".{job.bundle}.{os.getpid()}"
        partial.write_bytes(data)
        partial.replace(path)
        self._evict(path)
        return path

    def _evict(self, keep: Path) -> None:
        """Remove the bundles used longest ago until the rest fits; never the one just fetched."""
        entries = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._folder.iterdir())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self._settings.cache_bytes:
                return
            if path != keep:
                path.unlink(missing_ok=True)
                total -= size
