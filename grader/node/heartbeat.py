"""Tells the server, every few seconds, that this worker lives, what it can do and which job it has."""

import platform
import threading
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import structlog

from grader.contract import JobSpec
from grader.node.server import DeniedError, Server
from grader.node.settings import NodeSettings

DENIED = "denied"
"""What a node follows whose token the server does not know any more: it gets no job that it could claim."""
log = structlog.get_logger(__name__)


class Heartbeat:
    """A thread that posts heartbeats, each of which renews the lease of the job at hand.

    `look` is called before each and returns whether this worker consumes from its queue, and what else there
    is to say of its health; `follow` gets the state that the server wants this node to be in.
    """

    def __init__(
        self,
        settings: NodeSettings,
        server: Server,
        *,
        look: Callable[[], tuple[bool, dict[str, Any]]],
        follow: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._server = server
        self._look = look
        self._follow = follow
        self._wake = threading.Event()
        self._stopping = False
        self.draining = False
        """Set when this worker takes no more jobs; a plain flag, so that a signal handler may set it."""
        self._failing = False
        self._token: str | None = None
        self._cancelled: str | None = None
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._versions = {"python": platform.python_version(), **_versions("solmark", "torch", "triton")}

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Say good-bye, so that nobody counts on this worker; waits for that a moment at most."""
        self._stopping = self.draining = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def start_job(self, job: JobSpec) -> None:
        """This worker has claimed that job: its lease is renewed from now on."""
        self._token = job.token

    def end_job(self) -> None:
        """It is free again; the server learns so at once."""
        self._token = None
        self._wake.set()

    def cancelled(self, job: JobSpec) -> bool:
        """Whether the server said that this job must not go on."""
        return self._cancelled == job.token

    def beat(self) -> None:
        """One heartbeat; raises ServerError."""
        token = self._token
        answer = self._server.heartbeat(self._document(), token)
        if answer.cancelled and token is not None:
            self._cancelled = token
        self._follow(answer.state)

    def _document(self) -> dict[str, Any]:
        consuming, health = self._look()
        return {
            "consuming": consuming,
            "health": health,
            "worker": self._settings.node,
            "hardware": self._settings.hardware,
            "devices": self._settings.devices,
            "state": "draining" if self.draining else "active",
            "versions": self._versions,
        }

    def _run(self) -> None:
        last = False
        while not last:
            last = self._stopping
            self._wake.clear()
            try:
                self.beat()
                self._failing = False
            except Exception as error:  # noqa: BLE001  no heartbeat, no lease: whatever it was, the next must come
                if not self._failing:
                    log.warning("heartbeat failed", cause=f"{type(error).__name__}: {error}")
                self._failing = True
                if isinstance(error, DeniedError):
                    self._follow(DENIED)
            if not last:
                self._wake.wait(self._settings.heartbeat_seconds)


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
