"""Blobs of a job, fetched from the server by digest over HTTP, and the bundles kept on disk."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from grader.contract import JobSpec
from grader.node.settings import NodeSettings

ATTEMPT_HEADER = "X-Solmark-Attempt"
"""Carries the attempt's token: a blob is given only to the job that names it."""
CHUNK_BYTES = 1 << 16
TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


class BlobError(RuntimeError):
    """A blob could not be had, or is not what its digest says; the text is the cause."""


class Blobs:
    """Fetches what one job names. Not for use by several threads at once."""

    def __init__(
        self, settings: NodeSettings, client: httpx.Client, interrupted: Callable[[], None] = lambda: None
    ) -> None:
        """`interrupted` is called while waiting, and raises if the job must not go on."""
        self._settings = settings
        self._client = client
        self._interrupted = interrupted
        self._folder = settings.home / "bundles"

    def files(self, job: JobSpec) -> dict[str, bytes]:
        """Contents of the submission's files by name, sizes and digests verified; kept nowhere."""
        contents: dict[str, bytes] = {}
        for file in job.files:
            data = self._fetch(file.sha256, job.token, file.size)
            if len(data) != file.size:
                raise BlobError(f"{file.name}: {len(data)} bytes arrived, the job says {file.size}")
            contents[file.name] = data
        return contents

    def bundle(self, job: JobSpec) -> Path:
        """Path of the assignment bundle on this node's disk, its digest verified by whoever put it there."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / job.bundle
        if path.is_file():
            os.utime(path)
            return path
        data = self._fetch(job.bundle, job.token, self._settings.bundle_bytes)
        partial = self._folder / f".{job.bundle}.{os.getpid()}"
        partial.write_bytes(data)
        partial.replace(path)
        self._evict(path)
        return path

    def _fetch(self, digest: str, token: str, most_bytes: int) -> bytes:
        deadline = time.monotonic() + self._settings.fetch_seconds
        pause = 0.2
        while True:
            self._interrupted()
            try:
                return self._download(digest, token, most_bytes)
            except (httpx.TransportError, _TemporaryError) as error:
                if time.monotonic() + pause > deadline:
                    raise BlobError(f"blob {digest[:12]}: the server does not answer: {error}") from error
            time.sleep(pause)
            pause = min(2 * pause, 3.0)

    def _download(self, digest: str, token: str, most_bytes: int) -> bytes:
        found = hashlib.sha256()
        data = bytearray()
        headers = {"Authorization": f"Bearer {self._settings.token}", ATTEMPT_HEADER: token}
        url = f"{self._settings.server_url}/internal/blobs/{digest}"
        with self._client.stream("GET", url, headers=headers) as response:
            if response.status_code in TEMPORARY:
                raise _TemporaryError(f"HTTP {response.status_code}")
            if response.status_code != httpx.codes.OK:
                raise BlobError(f"blob {digest[:12]}: the server answered HTTP {response.status_code}")
            for chunk in response.iter_bytes(CHUNK_BYTES):
                data += chunk
                found.update(chunk)
                if len(data) > most_bytes:
                    raise BlobError(f"blob {digest[:12]}: more than {most_bytes} bytes arrived")
        if found.hexdigest() != digest:
            raise BlobError(f"blob {digest[:12]}: what arrived has the digest {found.hexdigest()[:12]}")
        return bytes(data)

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


class _TemporaryError(Exception):
    """The server may answer better in a moment."""
