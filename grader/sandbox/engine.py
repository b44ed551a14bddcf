"""The Docker daemon of this machine, as far as sandboxes need it: containers and images.

The `docker` package is imported when the first connection is made: machines without Docker need not have it.
All failures are SandboxErrors. The daemon is told everything in its own JSON, so that what a sandbox is can
be read in one place (`grader.sandbox.container`).
"""

import contextlib
import functools
import importlib
import io
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.sandbox.base import SandboxError

_TIMEOUT_SECONDS = 60.0
_BUILD_SECONDS = 600.0
_LOG_CHARS = 2000
_DEFAULT_HOST = "unix:///var/run/docker.sock"


@dataclass(frozen=True)
class Image:
    """An image as the daemon has it."""

    digest: str
    """Its id, sha256:...: what a container is made of, whatever tags are moved to meanwhile."""
    labels: Mapping[str, str]
    environment: Mapping[str, str]
    volumes: frozenset[str] = frozenset()
    """Folders that it has every container be given on the host's disk, to write to."""


class Engine:
    """What knows the daemon; any thread may use it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def create(self, name: str, configuration: Mapping[str, Any]) -> str:
        """Make a container and return its id."""
        with _failures("make a container"):
            return str(self._client.create_container_from_config(dict(configuration), name)["Id"])

    def start(self, container: str) -> None:
        """Start its first process."""
        with _failures("start a container"):
            self._client.start(container)

    def state(self, container: str) -> Mapping[str, Any]:
        """Its state: Pid (0 once it has ended), ExitCode, OOMKilled and so on."""
        with _failures("look at a container"):
            state: Mapping[str, Any] = self._client.inspect_container(container)["State"]
            return state

    def log(self, container: str) -> str:
        """The end of what its first process has printed."""
        with _failures("read a container's log"):
            printed: bytes = self._client.logs(container, tail=20)
            return printed.decode(errors="replace").strip()[-_LOG_CHARS:]

    def remove(self, container: str) -> None:
        """Kill and remove it; it may be gone already, or being removed by another."""
        with _failures("remove a container"), contextlib.suppress(_errors().NotFound):
            self._client.remove_container(container, force=True, v=True)

    def containers(self, label: str) -> Mapping[str, str]:
        """Id -> value of this label, for all containers that have it, whether they run or not."""
        with _failures("list the containers"):
            found = self._client.containers(all=True, filters={"label": label})
            return {container["Id"]: container["Labels"][label] for container in found}

    def image(self, name: str) -> Image | None:
        """The image of this name or id, None if there is none here. Nothing is pulled."""
        with _failures("look at an image"):
            try:
                found = self._client.inspect_image(name)
            except _errors().ImageNotFound:
                return None
        configuration = found["Config"] or {}
        variables = (word.partition("=") for word in configuration.get("Env") or ())
        return Image(
            str(found["Id"]),
            configuration.get("Labels") or {},
            {name: value for name, _, value in variables},
            frozenset(configuration.get("Volumes") or ()),
        )

    def load(self, archive: bytes, repository: str, tag: str) -> None:
        """Make an image out of a tar archive of its file system."""
        with _failures("make an image"):
            self._client.import_image_from_data(archive, repository=repository, tag=tag)

    def build(
        self, dockerfile: str, name: str, network: str | None, labels: Mapping[str, str] | None = None
    ) -> tuple[str, bool]:
        """Build an image anew, without a context; returns what was printed, and whether it failed."""
        log, failed = [], False
        with _failures("build an image"):
            for said in self._client.build(
                fileobj=io.BytesIO(dockerfile.encode()),
                tag=name,
                rm=True,
                forcerm=True,
                nocache=True,  # what is taken from a cache prints nothing
                labels=dict(labels or {}),
                network_mode=network,
                decode=True,
                timeout=_BUILD_SECONDS,
            ):
                log.append(said.get("stream") or said.get("error") or "")
                failed = failed or "error" in said
        return "".join(log), failed

    def info(self) -> Mapping[str, Any]:
        """What the daemon says of itself and this machine."""
        with _failures("ask"):
            info: Mapping[str, Any] = self._client.info()
            return info


def connect() -> Engine:
    """The connection of this process; SandboxError if there is no daemon, with what to do."""
    return _connect(os.getpid())


def disconnect() -> None:
    """Forget the connection: the next caller makes a new one, with the environment as it is then."""
    if _connect.cache_info().currsize:
        connect().close()
    _connect.cache_clear()


@functools.lru_cache(maxsize=1)
def _connect(_pid: int) -> Engine:
    try:
        sdk = _sdk()
    except ImportError:
        raise SandboxError("the docker package is not installed: pip install 'solmark[docker]'") from None
    host = os.environ.get("DOCKER_HOST") or _DEFAULT_HOST
    if not host.startswith("unix://"):
        raise SandboxError(
            f"the judge needs the Docker daemon of its own machine, and not {host} (DOCKER_HOST)"
        )
    try:
        with socket.socket(socket.AF_UNIX) as trial:
            trial.connect(host.removeprefix("unix://"))
        client = sdk.APIClient(base_url=host, version="auto", timeout=_TIMEOUT_SECONDS)
        client.mount("http+docker://", _adapter(host.replace("unix:", "http+unix:", 1)))
        client.headers["Connection"] = "close"  # Between calls nothing is held open.
    except (OSError, _errors().DockerException) as error:
        raise SandboxError(
            f"no Docker daemon answers at {host} ({_first_line(error)}): start dockerd"
        ) from error
    return Engine(client)


def _adapter(place: str) -> Any:
    """One pool of connections for all addresses.

    The package makes one for each, and closes the oldest of them even while another thread waits in it.
    """
    base: Any = importlib.import_module("docker.transport").UnixHTTPAdapter

    class Adapter(base):  # type: ignore[misc]
        def get_connection(self, _url: str, proxies: Any = None) -> Any:
            return super().get_connection("http+docker://localhost", proxies)

    return Adapter(place, timeout=_TIMEOUT_SECONDS)


def _sdk() -> Any:
    """The package `docker`, by name: the checkout has a folder that is called the same."""
    return importlib.import_module("docker")


def _errors() -> Any:
    return _sdk().errors


@contextlib.contextmanager
def _failures(what: str) -> Iterator[None]:
    """Turn the failures of a call into SandboxError."""
    from requests.exceptions import RequestException

    try:
        yield
    except (_errors().DockerException, RequestException) as error:
        raise SandboxError(f"the Docker daemon could not {what}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:_LOG_CHARS]
