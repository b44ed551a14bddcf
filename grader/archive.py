"""The files of an assignment folder as one archive whose bytes depend on names and contents alone.

The archive is an uncompressed tar in the USTAR form: members sorted by name, no times, no owners, no links,
one mode. Its sha-256 is the digest of the assignment: folder, bundle and dataset version share it.
"""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from grader.faults import AssignmentError, Fault

MAX_FILES = 2000
MAX_BYTES = 256 << 20
"""Most bytes of all files of an assignment together."""
MAX_ARCHIVE_BYTES = MAX_BYTES + MAX_FILES * 1024 + (1 << 20)
MAX_NAME = 200

_SKIPPED = {"__pycache__"}
_BLOCK = tarfile.BLOCKSIZE
_OTHER_FORM = "not the canonical form; something was added to it or changed"


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
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            faults.append(_unreadable(folder.relative_to(root).as_posix(), error))
            continue
        for entry in entries:
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
    try:
        _header(name, 0).tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    except ValueError:
        return "the name is too long for an archive: at most 100 bytes after a slash, and 155 before it"
    return None


def collect(root: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Contents by name. Raises AssignmentError with a fault for each file that cannot be read."""
    contents: dict[str, bytes] = {}
    faults: list[Fault] = []
    for name in names:
        try:
            contents[name] = (root / name).read_bytes()
        except OSError as error:
            faults.append(_unreadable(name, error))
    if faults:
        raise AssignmentError(str(root), faults)
    return contents


def pack(files: Mapping[str, bytes]) -> bytes:
    """The canonical archive of these files. Raises ArchiveError for a name too long for it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            try:
                archive.addfile(_header(name, len(content)), io.BytesIO(content))
            except ValueError as error:
                raise ArchiveError(f"{name}: {error}") from error
    return buffer.getvalue()


def _unreadable(name: str, error: OSError) -> Fault:
    return Fault(name, "", f"cannot be read: {error.strerror}", "give whoever grades the right to read it")


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
    """Contents by name. Raises ArchiveError for anything that `pack` would not have written.

    Every header is compared with the one that `pack` would write before a byte of content is read, so nothing
    in it (a sparse map, an extended header, a size) is ever obeyed.
    """
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise ArchiveError(f"{len(archive)} bytes; a bundle has at most {MAX_ARCHIVE_BYTES}")
    files: dict[str, bytes] = {}
    start = total = 0
    while (header := archive[start : start + _BLOCK]).strip(b"\0"):
        if len(files) >= MAX_FILES:
            raise ArchiveError(f"more than {MAX_FILES} files")
        name, size = _member(header)
        if name in files:
            raise ArchiveError(f"{name!r} is there twice")
        if files and name < next(reversed(files)):
            raise ArchiveError(f"{name!r} is out of order: {_OTHER_FORM}")
        total += size
        if total > MAX_BYTES:
            raise ArchiveError(f"{total} bytes of files; a bundle has at most {MAX_BYTES}")
        begin, end = start + _BLOCK, start + _BLOCK + size
        start = end + -size % _BLOCK
        if start > len(archive):
            raise ArchiveError(f"not a bundle: it ends within {name!r}")
        if archive[end:start].strip(b"\0"):
            raise ArchiveError(f"{name!r} is followed by something else: {_OTHER_FORM}")
        files[name] = archive[begin:end]
    _check_end(archive, start, files)
    return files


def _check_end(archive: bytes, start: int, files: Collection[str]) -> None:
    """What follows the last member, and what no member shows alone. Raises ArchiveError."""
    if not files:
        raise ArchiveError("not a bundle: it has no files")
    whole = start + 2 * _BLOCK
    whole += -whole % tarfile.RECORDSIZE
    if len(archive) != whole or archive[start:].strip(b"\0"):
        raise ArchiveError(f"its end is not that of a bundle: {_OTHER_FORM}")
    for name in files:
        if any(parent.as_posix() in files for parent in PurePosixPath(name).parents):
            raise ArchiveError(f"{name!r} lies in a folder that is a file as well")


def _member(header: bytes) -> tuple[str, int]:
    """Name and size in a header that `pack` would have written. Raises ArchiveError for any other."""
    try:
        member = tarfile.TarInfo.frombuf(header, "ascii", "strict")
    except (tarfile.TarError, ValueError) as error:
        raise ArchiveError(f"not a bundle: {error}") from error
    if member.type != tarfile.REGTYPE:
        raise ArchiveError(f"{member.name!r} is not a plain file")
    if problem := name_problem(member.name):
        raise ArchiveError(f"{member.name!r}: {problem}")
    if not 0 <= member.size <= MAX_BYTES:
        raise ArchiveError(f"{member.name!r} says that it has {member.size} bytes; at most {MAX_BYTES} do")
    try:
        same = _header(member.name, member.size).tobuf(tarfile.USTAR_FORMAT, "ascii", "strict") == header
    except ValueError as error:
        raise ArchiveError(f"{member.name!r}: {error}") from error
    if not same:
        raise ArchiveError(f"{member.name!r} has a header of another kind: {_OTHER_FORM}")
    return member.name, member.size


def _header(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member
