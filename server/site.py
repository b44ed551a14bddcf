"""A whole site on one machine: broker, web server, tasks and one worker, as children of this process."""

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from server.db.session import Database
from server.embedded import Supervisor, free_port, start_broker, wait_until
from server.grading import service as grading
from server.settings import Settings

LOCAL_NODE = "local"
WATCH_SECONDS = 0.5
WORKER_INHERITS = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "XDG_*"),
    *("LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHON*", "CC", "CXX", "CUDA_*", "NVIDIA_*", "TORCH*", "TRITON_*"),
    *("OMP_*", "MKL_*", "SSL_CERT_*", "*_proxy", "*_PROXY"),
    *("SOLMARK_HOME", "SOLMARK_SANDBOX", "SOLMARK_DEVICES", "SOLMARK_SESSION_SECONDS"),
    *("SOLMARK_HEARTBEAT_SECONDS", "SOLMARK_ASSIGNMENTS"),
)
"""What a node needs of the environment. The server's secrets and database are not among it."""


@dataclass(frozen=True)
class Site:
    """A running site."""

    url: str
    settings: Settings
    """Settings of its processes, with the URLs of its broker and database."""
    supervisor: Supervisor

    def wait(self, ended: Callable[[], bool]) -> None:
        """Keep all parts up until `ended()`; raises EmbeddedError for a part that does not stay up."""
        while not ended():
            self.supervisor.watch()
            time.sleep(WATCH_SECONDS)


@contextmanager
def running(
    settings: Settings, *, host: str, port: int | None, hardware: str = "cpu", public_url: str | None = None
) -> Iterator[Site]:
    """Start everything on a migrated database, wait until it answers, stop everything at the end.

    `port` None: 8000 if it is free, else any. `public_url` is the address of a proxy in front of it, if there
    is one. Raises EmbeddedError.
    """
    home = settings.server_home
    port = port or free_port(8000, host)
    url = f"http://{host}:{port}"
    with Supervisor(home) as supervisor:
        broker_url = settings.broker_url or start_broker(supervisor, home)
        settings = settings.model_copy(update={"broker_url": broker_url, "public_url": public_url or url})
        common = _environment(settings)
        server = [sys.executable, "-m", "server.cli"]
        supervisor.start("web", [*server, "serve", "--host", host, "--port", str(port)], environment=common)
        wait_until(lambda: _answers(url), "web", supervisor, seconds=60.0)
        supervisor.start("tasks", [*server, "tasks", "--beat"], environment=common)
        supervisor.start(
            "worker",
            [sys.executable, "-m", "grader.worker"],
            environment={
                "SOLMARK_BROKER_URL": broker_url,
                "SOLMARK_SERVER_URL": url,
                "SOLMARK_NODE": _spool_name(home),
                "SOLMARK_NODE_TOKEN": _node_token(settings),
                "SOLMARK_HARDWARE": hardware,
                # Somebody waits at the terminal: the job returns to the queue, which is kept.
                "SOLMARK_GRACE_SECONDS": "0.5",
            },
            inherit=WORKER_INHERITS,
            together=True,
        )
        yield Site(url, settings, supervisor)


def _environment(settings: Settings) -> dict[str, str]:
    return {
        "SOLMARK_BROKER_URL": settings.broker_url,
        "SOLMARK_SERVER_HOME": str(settings.server_home),
        "SOLMARK_DATABASE_URL": settings.database,
        "SOLMARK_PUBLIC_URL": settings.public_url,
        "SOLMARK_MAX_ATTEMPTS": str(settings.max_attempts),
    }


def _node_token(settings: Settings) -> str:
    """A new token at each start: it lives in the worker's environment and nowhere else."""
    database = Database(settings.database)
    try:
        with database.begin() as session:
            return grading.register_node(session, LOCAL_NODE)[1]
    finally:
        database.close()


def _spool_name(home: Path) -> str:
    """Worker's name for itself. Sites of one user share a node's folder, and so its lock on the hardware,
    but never the Reports that wait for their server: these lie under this name.
    """
    return f"{LOCAL_NODE}-{hashlib.sha256(str(home.absolute()).encode()).hexdigest()[:6]}"


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=2.0).is_success
    except httpx.HTTPError:
        return False


def absolute_home(settings: Settings) -> Settings:
    """The settings with an absolute home, so that children in any folder mean the same."""
    return settings.model_copy(update={"server_home": Path(settings.server_home).absolute()})
