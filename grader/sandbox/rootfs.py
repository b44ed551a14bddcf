"""File systems of Docker sandboxes: an image with an interpreter, or this machine's own folders."""

import hashlib
import io
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from grader.sandbox import mounts
from grader.sandbox.base import SandboxError
from grader.sandbox.container import Rootfs
from grader.sandbox.engine import Engine

PYTHON_LABEL = "solmark.python"
"""Label of an image that brings its own interpreter: its path."""
_HOST_IMAGE = "solmark-sandbox-host"
_FOLDERS = ("dev", "etc", "proc", "solmark", "sys", "tmp", "usr")


def of_image(daemon: Engine, name: str) -> Rootfs:
    """The image of this name or digest; SandboxError if it is not here or cannot be used."""
    image = daemon.image(name)
    if image is None:
        raise SandboxError(f"there is no image {name} on this machine: build it first (docker/README.md)")
    if PYTHON_LABEL not in image.labels:
        raise SandboxError(f"the image {name} does not name its interpreter (LABEL {PYTHON_LABEL})")
    if image.volumes:  # The daemon would make them on its disk, where no limit of ours counts.
        raise SandboxError(
            f"the image {name} has volumes ({', '.join(sorted(image.volumes))}): build it without"
        )
    return Rootfs(image.digest, image.labels[PYTHON_LABEL], (), image.environment)


def of_host(daemon: Engine, hidden: Sequence[Path]) -> Rootfs:
    """An image of folders and links alone, made if it is not here yet, and this machine's folders over it."""
    allowed = mounts.allowed({}, hidden)
    archive = _archive([(mount.inside, mount.source) for mount in allowed if mount.kind == "link"])
    name = f"{_HOST_IMAGE}:{hashlib.sha256(archive).hexdigest()[:16]}"
    image = daemon.image(name)
    if image is None:
        repository, _, tag = name.partition(":")
        daemon.load(archive, repository, tag)
        image = daemon.image(name)
    if image is None:
        raise SandboxError(f"the image {name} was made and is not here")
    return Rootfs(image.digest, sys.executable, [mount for mount in allowed if mount.kind != "link"], {})


def _archive(links: Sequence[tuple[str, str]]) -> bytes:
    """A tar archive of a file system with these links (path, target) and the folders that every one has."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in _FOLDERS:
            folder = tarfile.TarInfo(name)
            # What is mounted there gets the mode of the folder that it covers.
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(folder)
        for path, target in links:
            link = tarfile.TarInfo(path.lstrip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    return content.getvalue()
