"""Assignments in transit: the archive that nodes fetch by its digest, and the zip that students start from.

The digest of an archive is the digest of its assignment: folder, bundle and dataset version share one name.
The manifest travels beside the archive, because it is derived from it (see `grader.manifest`).
"""

import io
import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import grader
from grader import archive
from grader import assignment as assignments
from grader import manifest as manifests
from grader.archive import ArchiveError
from grader.assignment import Assignment
from grader.contract import Language
from grader.faults import AssignmentError, Fault
from grader.manifest import Manifest, ManifestError

__all__ = [
    "ArchiveError",
    "Bundle",
    "Manifest",
    "ManifestError",
    "make",
    "read",
    "starter_zip",
    "write",
]

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_HEADER = Path(grader.__file__).parent / "candidate" / "solmark.h"
_PRIVATE = ("hidden", "reference")
"""Folders that no student receives."""


@dataclass(frozen=True)
class Bundle:
    """An assignment ready to be published."""

    archive: bytes
    digest: str
    """Sha-256 of the archive."""
    manifest: Manifest


def make(assignment: Assignment) -> Bundle:
    """Pack and evaluate an assignment (in a subprocess). Raises AssignmentError with all faults."""
    names, faults = archive.members(assignment.root)
    if faults:
        raise AssignmentError(assignment.id, faults)
    packed = archive.pack(archive.collect(assignment.root, names))
    if archive.digest(packed) != assignment.digest:
        raise AssignmentError(assignment.id, [Fault(".", "", "changed since it was read", "read it again")])
    return Bundle(packed, assignment.digest, manifests.make(assignment))


def write(assignment: Assignment, file: Path) -> str:
    """Write the archive to `file` and the manifest beside it (suffix `.manifest.json`); return the digest."""
    bundle = make(assignment)
    _replace(file, bundle.archive)
    _replace(manifest_file(file), bundle.manifest.model_dump_json(indent=1).encode())
    return bundle.digest


def manifest_file(file: Path) -> Path:
    """Where `write` puts the manifest of an archive."""
    return file.with_name(f"{file.name}.manifest.json")


def read(source: bytes | Path, folder: Path, digest: str | None = None) -> Assignment:
    """Unpack an archive into `folder`, which must not exist yet, and load it.

    Nothing is left behind on failure, and `folder` appears only when complete. Raises ArchiveError for an
    archive that is damaged, hostile or not the one of `digest`, AssignmentError for a faulty assignment.
    """
    content = _content(source)
    found = archive.digest(content)
    if digest is not None and found != digest:
        raise ArchiveError(f"the bundle's digest is {found}, not {digest}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        archive.unpack(content, scratch / "bundle")
        try:
            assignments.load(scratch / "bundle")
        except AssignmentError as error:
            # The scratch folder's name means nothing to whoever reads this, and is nobody's business.
            raise AssignmentError("bundle", error.faults) from None
        if folder.exists():
            raise FileExistsError(f"{folder} exists")
        (scratch / "bundle").rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return assignments.load(folder)


def starter_zip(assignment: Assignment) -> bytes:
    """What a student receives: everything but hidden cases, plus the C header where C++ or CUDA is offered.

    The folder in it loads and grades; equal assignments give equal bytes.
    """
    names, _ = archive.members(assignment.root)
    handed_out = [name for name in names if PurePosixPath(name).parts[0] not in _PRIVATE]
    public = archive.collect(assignment.root, handed_out)
    offered = {language for part in assignment.spec.parts for language in part.languages}
    if offered & {Language.CPP, Language.CUDA}:
        public["starter/solmark.h"] = _HEADER.read_bytes()
    slug = assignment.id.partition("/")[2]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in sorted(public.items()):
            entry = zipfile.ZipInfo(f"{slug}/{name}", _ZIP_TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(entry, content)
    return buffer.getvalue()


def _content(source: bytes | Path) -> bytes:
    if isinstance(source, bytes):
        return source
    size = source.stat().st_size
    if size > archive.MAX_ARCHIVE_BYTES:
        raise ArchiveError(f"{size} bytes; a bundle has at most {archive.MAX_ARCHIVE_BYTES}")
    return source.read_bytes()


def _replace(file: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        Path(scratch).chmod(0o644)
        Path(scratch).replace(file)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
