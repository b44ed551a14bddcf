"""What a node asks of the server over HTTP: claims, blobs, heartbeats. It knows no database."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from grader.node.settings import NodeSettings

ATTEMPT_HEADER = "X-Solmark-Attempt"
"""Carries the attempt's token: the server gives a job's blobs to that job only."""
CHUNK_BYTES = 1 << 16
TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
Answer = TypeVar("Answer")


class ServerError(RuntimeError):
    """The server refused, or did not answer for as long as a node waits; the text is the cause."""


class StaleError(ServerError):
    """The attempt is over or belongs to another worker."""


class DeniedError(ServerError):
    """The server does not know this node's token."""


class TemporaryError(ServerError):
    """The server may answer better in a moment."""


@dataclass(frozen=True)
class HeartbeatAnswer:
    """What the server says to a heartbeat: the node's state, and whether its job was cancelled or lost."""

    state: str
    cancelled: bool


class Server:
    """One connection pool with the node's token; for use by any number of threads."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._client = httpx.Client(
            base_url=settings.server_url,
            headers={"Authorization": f"Bearer {settings.token}"},
            timeout=httpx.Timeout(10.0, connect=5.0),
        )

    def claim(self, token: str, interrupted: Callable[[], None]) -> float | None:
        """Tell the server that this worker begins the attempt; raise StaleError if it must not.

        For how many seconds it has it; None from a server that does not say so.
        """
        answer = self._patiently(
            lambda: self._post("/internal/attempts/claim", {"worker": self._settings.node}, token),
            interrupted,
        )
        try:
            seconds = answer.json().get("seconds")
            return None if seconds is None else float(seconds)
        except (AttributeError, TypeError, ValueError) as error:
            raise ServerError(f"the answer to a claim cannot be read: {error}") from error

    def give_back(self, token: str) -> None:
        """Return a claimed attempt unfinished. Asked once: the lease finds what this does not reach."""
        self._post("/internal/attempts/return", {}, token)

    def heartbeat(self, document: Mapping[str, Any], token: str | None) -> HeartbeatAnswer:
        """Say that this worker lives; `token` is that of its job, whose lease is renewed."""
        answer = self._post("/internal/heartbeat", document, token)
        try:
            found = answer.json()
            return HeartbeatAnswer(str(found["state"]), bool(found["cancelled"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ServerError(f"the answer to a heartbeat cannot be read: {error}") from error

    def blob(self, digest: str, token: str, most_bytes: int, interrupted: Callable[[], None]) -> bytes:
        """A blob of the attempt's job, its size limited and its digest verified."""
        return self._patiently(lambda: self._download(digest, token, most_bytes), interrupted)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _patiently(self, ask: Callable[[], Answer], interrupted: Callable[[], None]) -> Answer:
        """Ask again, more and more slowly, while the server is away; `interrupted` raises to end that."""
        deadline = time.monotonic() + self._settings.fetch_seconds
        pause = 0.2
        while True:
            interrupted()
            try:
                return ask()
            except TemporaryError as error:
                if time.monotonic() + pause > deadline:
                    raise ServerError(f"the server does not answer: {error}") from error
            time.sleep(pause)
            pause = min(2 * pause, 3.0)

    def _post(self, path: str, document: Mapping[str, Any], token: str | None) -> httpx.Response:
        headers = {} if token is None else {ATTEMPT_HEADER: token}
        try:
            response = self._client.post(path, json=dict(document), headers=headers)
        except httpx.HTTPError as error:
            raise TemporaryError(f"{path}: {error!r}") from error
        _check(response.status_code, path)
        return response

    def _download(self, digest: str, token: str, most_bytes: int) -> bytes:
        path = f"/internal/blobs/{digest}"
        data = bytearray()
        try:
            with self._client.stream("GET", path, headers={ATTEMPT_HEADER: token}) as response:
                _check(response.status_code, path)
                for chunk in response.iter_bytes(CHUNK_BYTES):
                    data += chunk
                    if len(data) > most_bytes:
                        raise ServerError(f"{path}: more than {most_bytes} bytes arrived")
        except httpx.HTTPError as error:
            raise TemporaryError(f"{path}: {error!r}") from error
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            raise ServerError(f"{path}: what arrived has the digest {found}")
        return bytes(data)


def _check(status: int, path: str) -> None:
    text = f"{path}: HTTP {status}"
    if status in TEMPORARY:
        raise TemporaryError(text)
    if status == httpx.codes.CONFLICT:
        raise StaleError(text)
    if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        raise DeniedError(text)
    if not httpx.codes.is_success(status):
        raise ServerError(text)
