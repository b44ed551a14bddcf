"""Extra packages of an assignment: an image of their own in Docker, else they must be installed already.

The image is built once for each base and list, and then found by its tag; what the build printed stays with
it, in a label. Only wheels are taken: no code of a package runs while it is installed.
"""

import fcntl
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from grader.sandbox.base import SandboxError
from grader.sandbox.container import Rootfs
from grader.sandbox.engine import Engine

NETWORK_VARIABLE = "SOLMARK_SANDBOX_BUILD_NETWORK"
"""Network of a build, as `docker build --network` takes it; unset, Docker's own default."""
REPOSITORY = "solmark-sandbox-packages"
_FOLDER = Path("/run/solmark/images")
LOG_LABEL = "solmark.log"
"""Label of such an image: the end of what its build has printed."""
_KEPT_CHARS = 32768
_SHOWN_CHARS = 8000


@dataclass(frozen=True)
class Built:
    """An image with the packages. `log` is what its build printed, whenever that was."""

    digest: str
    log: str
    now: bool
    """Whether it was built just now, and not here already."""


def missing(packages: Sequence[str]) -> list[str]:
    """Those of the packages (`name==version`) that the judge's own environment does not have."""
    return [package for package in packages if not _installed(package)]


def require(packages: Sequence[str]) -> None:
    """Raise SandboxError if the judge's own environment lacks one."""
    if absent := missing(packages):
        raise SandboxError(
            f"this assignment needs {', '.join(absent)}: install it where the grader is installed, or grade "
            "in the Docker sandbox with an image (SOLMARK_SANDBOX_IMAGE)"
        )


def key(base: str, packages: Sequence[str]) -> str:
    """Tag of the image of this base (a digest) with these packages, in whatever order they are named."""
    return hashlib.sha256("\0".join([base, *sorted(packages)]).encode()).hexdigest()[:24]


def build(daemon: Engine, base: Rootfs, packages: Sequence[str]) -> Built:
    """The image with the packages, built if it is not here yet; SandboxError, with the log, if that fails."""
    tag = key(base.image, packages)
    name = f"{REPOSITORY}:{tag}"
    _FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(_FOLDER / f"{tag}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two sessions that need it, one builds it
        image = daemon.image(name)
        if image is not None and LOG_LABEL in image.labels:
            return Built(image.digest, image.labels[LOG_LABEL], now=False)
        network = os.environ.get(NETWORK_VARIABLE)
        log, failure = daemon.build(_dockerfile(base, packages), name, network)
        image = None if failure else daemon.image(name)
        if image is None:
            raise SandboxError(f"the packages of this assignment cannot be installed\n{log[-_SHOWN_CHARS:]}")
        # Until its log is with it an image does not count, should this process end here.
        said, failure = daemon.build(f"FROM {image.digest}\n", name, network, {LOG_LABEL: log[-_KEPT_CHARS:]})
        image = daemon.image(name)
        if failure or image is None:
            raise SandboxError(f"the log of the packages' build cannot be kept\n{said[-_SHOWN_CHARS:]}")
        return Built(image.digest, log, now=True)
    finally:
        os.close(lock)


def _dockerfile(base: Rootfs, packages: Sequence[str]) -> str:
    install = f"{base.python} -m pip install --no-cache-dir --no-input --only-binary :all:"
    return f"FROM {base.image}\nUSER 0:0\nRUN {install} {' '.join(sorted(packages))}\nUSER 65534:65534\n"


def _installed(package: str) -> bool:
    name, _, version = package.partition("==")
    try:
        return metadata.version(name.partition("[")[0]) == version
    except metadata.PackageNotFoundError:
        return False
