"""What somebody hands in, as plain files by name: archives (zip, tar, tar.gz) are taken apart in memory.

Nothing is written and no link is followed, because nothing but the bytes of plain files is ever looked at.
The files of an archive may lie in one folder that holds them all, as most tools pack them: its name goes.
Every limit is checked before what it bounds is unpacked.
"""

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from grader.contract import MAX_FILE_BYTES
from grader.languages import FilesError
from grader.messages import text
from grader.plaintext import line

MAX_ENTRIES = 1000
"""Files, folders and what packers add of their own, in one archive."""
MAX_ARCHIVE_BYTES = MAX_FILE_BYTES + MAX_ENTRIES * 1536 + tarfile.RECORDSIZE
"""Of an archive as it is sent, and of a tar inside a tar.gz: the files, and the headers of a tar."""
MAX_RATIO = 100
"""Unpacked size over packed size: source code does not reach a third of it."""
_SMALL_BYTES = 64 << 10
"""Below this size no ratio is asked for."""

_BLOCK = tarfile.BLOCKSIZE
_LINK = ("a link", "链接")
_SPECIAL = ("a device, a pipe or a sparse file", "设备、管道或稀疏文件")
_IGNORED = {"mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"}
"""Keys of pax headers that say nothing about name or content."""
_IGNORED_VENDORS = ("LIBARCHIVE.", "SCHILY.")
_MOST_DIGITS = 7
"""Of the length of a record in a pax header."""

_Member = tuple[str, Callable[[int], bytes]]
"""Path inside the archive, and a function that gives its content: at most so many bytes, and one more."""


@dataclass
class _Left:
    """What all archives of one upload together may still give: a small form has room for many small ones."""

    entries: int = MAX_ENTRIES
    tar_bytes: int = MAX_ARCHIVE_BYTES
    """Of tars inside tar.gz."""
    file_bytes: int = MAX_FILE_BYTES

    def count(self, name: str, entries: int) -> None:
        """So many entries of the archive `name` are looked at. Raises FilesError."""
        self.entries -= entries
        if self.entries < 0:
            raise FilesError(text("archive_entries", name=name, limit=MAX_ENTRIES))


class _DamagedError(ValueError):
    """The archive is not what its name says, or has parts that are not read."""


_UNREADABLE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error),
    *(OSError, RuntimeError, ValueError, LookupError, ArithmeticError, EOFError),
)
"""What the standard library raises over bytes that are no archive (found by tests/fuzz)."""


def expand(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The same files, and in place of every archive the files in it. Raises FilesError.

    Names and contents are not looked at: that is for `languages.check`.
    """
    found: dict[str, bytes] = {}
    left = _Left()
    for name, data in files.items():
        reader = _reader(name)
        for inner, content in ({name: data} if reader is None else _unpack(name, data, reader, left)).items():
            if inner in found:
                raise FilesError(text("repeated_name", name=line(inner, 128)))
            found[inner] = content
    return found


_Reader = Callable[[str, bytes, _Left], Iterator[_Member]]


def _reader(name: str) -> _Reader | None:
    lower = name.lower()
    if lower.endswith(".zip"):
        return _zip_members
    if lower.endswith(".tar"):
        return _tar_members
    return _gzip_members if lower.endswith((".tar.gz", ".tgz")) else None


def _unpack(name: str, data: bytes, reader: _Reader, left: _Left) -> dict[str, bytes]:
    shown = line(name, 128)
    if len(data) > MAX_ARCHIVE_BYTES:
        raise FilesError(text("archive_too_large", name=shown, limit=MAX_ARCHIVE_BYTES))
    try:
        files: dict[str, bytes] = {}
        for path, content in _kept(shown, reader(shown, data, left)):
            files[path] = content(left.file_bytes)
            left.file_bytes -= len(files[path])
            if left.file_bytes < 0:
                raise FilesError(text("archive_too_large", name=shown, limit=MAX_FILE_BYTES))
    except FilesError:
        raise
    except _UNREADABLE:
        raise FilesError(text("archive_damaged", name=shown)) from None
    total = sum(map(len, files.values()))
    if total > max(_SMALL_BYTES, MAX_RATIO * len(data)):
        raise FilesError(text("archive_ratio", name=shown, limit=MAX_RATIO))
    if not files:
        raise FilesError(text("archive_empty", name=shown))
    return _without_folder(shown, files)


def _kept(name: str, members: Iterator[_Member]) -> Iterator[_Member]:
    """Files that somebody wrote, each path once."""
    seen: set[str] = set()
    for path, content in members:
        inner = path.removeprefix("./")
        if _is_litter(inner):
            continue
        if inner in seen:
            raise FilesError(text("archive_repeats", name=name, member=line(inner, 128)))
        seen.add(inner)
        yield inner, content


def _is_litter(path: str) -> bool:
    """Whether a packer, a desktop or Python itself has left it there."""
    parts = path.split("/")
    last = parts[-1]
    return "__MACOSX" in parts or "__pycache__" in parts or last == ".DS_Store" or last.startswith("._")


def _without_folder(name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files by name alone, if they lie side by side."""
    folders = {path.rpartition("/")[0] for path in files}
    for path in files:
        parts = path.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise FilesError(text("bad_name", name=line(path, 128)))
        if len(parts) > 2 or len(folders) > 1:
            raise FilesError(text("archive_folders", name=name, member=line(path, 128)))
    return {path.rpartition("/")[2]: content for path, content in files.items()}


def _special(name: str, member: str, what: tuple[str, str]) -> FilesError:
    return FilesError(
        text("archive_special", name=name, member=line(member, 128), what=what[0], what_zh=what[1])
    )


def _zip_members(name: str, data: bytes, left: _Left) -> Iterator[_Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        left.count(name, len(entries))
        for entry in entries:
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if kind == stat.S_IFLNK:
                raise _special(name, entry.orig_filename, _LINK)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _special(name, entry.orig_filename, _SPECIAL)
            if entry.is_dir():
                continue
            if entry.flag_bits & 0x1:
                raise FilesError(text("archive_encrypted", name=name))
            # Other methods may ask for gigabytes of memory before they give a byte.
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _DamagedError
            # zipfile cuts a name at NUL and takes other separators for `/`.
            yield entry.orig_filename, partial(_read, archive, entry)


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    with archive.open(entry) as file:
        return file.read(most + 1)


def _gzip_members(name: str, data: bytes, left: _Left) -> Iterator[_Member]:
    engine = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    content = engine.decompress(data, left.tar_bytes + 1)
    left.tar_bytes -= len(content)
    if left.tar_bytes < 0:
        raise FilesError(text("archive_too_large", name=name, limit=MAX_ARCHIVE_BYTES))
    if not engine.eof or engine.unused_data.strip(b"\0"):
        raise _DamagedError
    return _tar_members(name, content, left)


def _tar_members(name: str, data: bytes, left: _Left) -> Iterator[_Member]:
    """Plain files. Read here and not by `tarfile`, which obeys what headers say of sizes and sparse maps."""
    start = entries = 0
    long_name = ""
    while (header := data[start : start + _BLOCK]).strip(b"\0"):
        entries += 1
        left.count(name, 1)
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        path = long_name or member.name
        begin = start + _BLOCK
        size = 0 if member.type == tarfile.DIRTYPE else member.size
        end = begin + size
        if not begin <= end <= len(data):
            raise _DamagedError
        start = end + -size % _BLOCK
        if member.type in (tarfile.XHDTYPE, tarfile.XGLTYPE):
            long_name = _pax_path(data[begin:end], long_name)
        elif member.type == tarfile.GNUTYPE_LONGNAME:
            long_name = data[begin:end].rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif member.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
            long_name = ""
            yield path, partial(_slice, data, begin, end)
        elif member.type == tarfile.DIRTYPE:
            long_name = ""
        else:
            link = member.type in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.GNUTYPE_LONGLINK)
            raise _special(name, path, _LINK if link else _SPECIAL)
    if entries == 0:
        raise _DamagedError


def _slice(data: bytes, begin: int, end: int, most: int) -> bytes:
    return data[begin : min(end, begin + most + 1)]


def _pax_path(block: bytes, before: str) -> str:
    """The path in a pax header, or the one before. Raises _DamagedError for what would change the content."""
    path, start = before, 0
    # By offset: cutting off what was read would copy a block of many small records once for each.
    while start < len(block):
        space = block.find(b" ", start, start + _MOST_DIGITS + 1)
        digits = block[start : max(space, start)]
        end = start + (int(digits) if digits.isdigit() else 0)
        record = block[start:end]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if end > len(block) or not record.endswith(b"\n") or not equals:
            raise _DamagedError
        word = key.decode("utf-8", "replace")
        if word == "path":
            path = value.decode("utf-8", "surrogateescape")
        elif word not in _IGNORED and not word.startswith(_IGNORED_VENDORS):
            raise _DamagedError
        start = end
    return path
