"""The files of an assignment folder as one archive whose bytes depend on names and contents alone.

The archive is an uncompressed tar in the USTAR form: members sorted by name, no times, no owners, no links,
one mode. Its sha-256 is the digest of the assignment: folder, bundle and dataset version share it.
"""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from grader.faults import Fault

MAX_FILES = 2000
MAX_BYTES = 256 << 20
"""Most bytes of all files of an assignment together."""
MAX_ARCHIVE_BYTES = MAX_BYTES + MAX_FILES * 1024 + (1 << 20)
MAX_NAME = 200

_SKIPPED = {"__pycache__"}


class ArchiveError(ValueError):
    """An archive that is damaged, not in the canonical form, too large, or tries to leave its folder."""


def members(root: Path) -> tuple[list[str], list[Fault]]:
    """Relative names of all files that belong to the assignment, sorted, and what is wrong with the others.

    Byte code and names that start with a dot are left out. Links and special files are faults.
    """
    names: list[str] = []
    faults: list[Fault] = []
    total = 0
    pending = [root]
    while pending:
        folder = pending.pop()
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            name = PurePosixPath(Path(entry.path).relative_to(root)).as_posix()
            if entry.name in _SKIPPED or entry.name.startswith(".") or entry.name.endswith(".pyc"):
                continue
            if entry.is_symlink():
                faults.append(Fault(name, "", "is a symbolic link", "put the file itself there"))
            elif entry.is_dir():
                pending.append(Path(entry.path))
            elif not stat.S_ISREG(entry.stat().st_mode):
                faults.append(Fault(name, "", "is not a regular file", "remove it"))
            elif problem := name_problem(name):
                faults.append(Fault(name, "", problem, "rename it"))
            else:
                names.append(name)
                total += entry.stat().st_size
    if len(names) > MAX_FILES:
        faults.append(Fault(".", "", f"{len(names)} files; at most {MAX_FILES} are bundled"))
    if total > MAX_BYTES:
        faults.append(Fault(".", "", f"{total} bytes; at most {MAX_BYTES} are bundled"))
    return sorted(names), faults


def name_problem(name: str) -> str | None:
    """Why a member may not have that name, None if it may."""
    parts = name.split("/")
    if not name or len(name.encode("utf-8", "replace")) > MAX_NAME:
        return f"a name of 1 to {MAX_NAME} bytes is needed"
    if any(part in ("", ".", "..") for part in parts):
        return "the name leaves the folder or has empty parts"
    if any(not character.isprintable() or character == "\\" for character in name):
        return "the name has unprintable characters or backslashes"
    if not name.isascii():
        return "the name has characters outside ASCII"
    return None


def collect(root: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Contents by name. Raises OSError."""
    return {name: (root / name).read_bytes() for name in names}


def pack(files: Mapping[str, bytes]) -> bytes:
    """The canonical archive of these files. Raises ArchiveError for a name too long for it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644
            try:
                archive.addfile(member, io.BytesIO(content))
            except ValueError as error:
                raise ArchiveError(f"{name}: {error}") from error
    return buffer.getvalue()


def digest(archive: bytes) -> str:
    """Sha-256 of an archive, hexadecimal."""
    return hashlib.sha256(archive).hexdigest()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of a canonical archive into a folder that is made for it.

    Raises ArchiveError before anything is written if a member is not a plain file with a plain name, and
    FileExistsError if the folder exists.
    """
    files = read(archive)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def read(archive: bytes) -> dict[str, bytes]:
    """Contents by name. Raises ArchiveError for anything that `pack` would not have written."""
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise ArchiveError(f"{len(archive)} bytes; a bundle has at most {MAX_ARCHIVE_BYTES}")
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
            for member in opened:
                if len(files) >= MAX_FILES:
                    raise ArchiveError(f"more than {MAX_FILES} files")
                if member.type != tarfile.REGTYPE:
                    raise ArchiveError(f"{member.name!r} is not a plain file")
                if problem := name_problem(member.name):
                    raise ArchiveError(f"{member.name!r}: {problem}")
                if member.name in files:
                    raise ArchiveError(f"{member.name!r} is there twice")
                content = opened.extractfile(member)
                files[member.name] = content.read() if content is not None else b""
    except (tarfile.TarError, UnicodeError, OverflowError, EOFError) as error:
        raise ArchiveError(f"not a bundle: {error}") from error
    if not files:
        raise ArchiveError("not a bundle: it has no files")
    if pack(files) != archive:
        raise ArchiveError("not a bundle in the canonical form: something was added to it or changed")
    for name in files:
        if any(parent.as_posix() in files for parent in PurePosixPath(name).parents):
            raise ArchiveError(f"{name!r} lies in a folder that is a file as well")
    return files
