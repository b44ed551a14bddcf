"""Tells the server, every few seconds, that this worker lives, what it can do and which job it has."""

import platform
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx
import structlog

from grader.contract import VERSION, JobSpec
from grader.node.settings import NodeSettings

log = structlog.get_logger(__name__)


class Heartbeat:
    """A thread that posts to `/internal/heartbeat`; a server that does not answer is tried again."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._changed = threading.Event()
        self._stopping = False
        self._job: JobSpec | None = None
        self._started = time.time()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._versions = {"python": platform.python_version(), **_versions("solmark", "torch", "triton")}

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Say good-bye, so that nobody counts on this worker; waits for that a moment at most."""
        self._stopping = True
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def start_job(self, job: JobSpec) -> None:
        """This worker is busy from now on."""
        self._job = job
        self._changed.set()

    def end_job(self) -> None:
        """It is free again."""
        self._job = None
        self._changed.set()

    def document(self) -> dict[str, Any]:
        """What is posted: JSON."""
        job = self._job
        state = "stopping" if self._stopping else "busy" if job else "idle"
        return {
            "version": VERSION,
            "hardware": self._settings.hardware,
            "state": state,
            "submission": job.submission if job else None,
            "attempt": job.attempt if job else None,
            "versions": self._versions,
            "started": self._started,
        }

    def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self._settings.token}"}
        url = f"{self._settings.server_url}/internal/heartbeat"
        failing = False
        with httpx.Client(timeout=5.0, headers=headers) as client:
            while True:
                last = self._stopping
                self._changed.clear()
                try:
                    client.post(url, json=self.document()).raise_for_status()
                    failing = False
                except httpx.HTTPError as error:
                    if not failing:
                        log.warning("heartbeat refused", cause=str(error))
                    failing = True
                if last:
                    return
                self._changed.wait(self._settings.heartbeat_seconds)


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
