"""Whatever somebody hands in as an archive becomes plain files within the limits, or is refused in words."""

import gzip
import io
import tarfile
import unicodedata
import zipfile
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grader import archive, languages, upload
from grader.contract import MAX_FILE_BYTES

FUZZ = settings.get_profile("fuzz")
SUFFIXES = st.sampled_from(["zip", "tar", "tar.gz", "tgz"])
NAMES = st.sampled_from(
    [
        "solution.py",
        "a/solution.py",
        "../x.py",
        "/x.py",
        "./x.py",
        "a\\b.py",
        "x\0.py",
        "a/b/c.py",
        "__MACOSX/x",
    ]
) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
CONTENTS = st.binary(max_size=300)
REPEATS = st.sampled_from([1, 1, 1, 300])
"""Some contents are long and alike, so that ratios matter; hypothesis shows them short."""


def _tar(members: list[tuple[str, bytes]], types: list[bytes], form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as packed:
        for (name, content), kind in zip(members, types, strict=False):
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            member.size = len(content) if kind == tarfile.REGTYPE else 0
            packed.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _zip(members: list[tuple[str, bytes]], modes: list[int], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as packed:
        for (name, content), mode in zip(members, modes, strict=False):
            entry = zipfile.ZipInfo(name.replace("\0", "") or "x")
            entry.external_attr = mode << 16
            packed.writestr(entry, content, method)
    return buffer.getvalue()


def _changed(data: st.DataObject, packed: bytes) -> bytes:
    body = bytearray(packed)
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, max(0, len(body) - 1)))
        piece = data.draw(
            st.binary(max_size=4) | st.sampled_from([b"\xff" * 8, b"\x80" + b"\xff" * 11, bytes(8)])
        )
        body[at : at + len(piece)] = piece
    return bytes(body[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else body)


def _try(name: str, packed: bytes) -> dict[str, bytes] | None:
    said = "unpacked"
    files: dict[str, bytes] | None = None
    try:
        files = upload.expand({name: packed})
    except languages.FilesError as refused:
        said = refused.text.en
    assert not [c for c in said if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(said) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    if files is None:
        return None
    assert files
    assert sum(map(len, files.values())) <= MAX_FILE_BYTES
    assert not any("/" in inner for inner in files)
    assert not {"", ".", ".."} & set(files)
    return files


def _recompressed(name: str, packed: bytes) -> bytes:
    return gzip.compress(packed, mtime=0) if name.endswith("gz") else packed


@FUZZ
@given(SUFFIXES, st.binary(max_size=600))
def test_any_bytes(suffix: str, data: bytes) -> None:
    _try(f"work.{suffix}", data)


@FUZZ
@given(
    st.lists(st.tuples(NAMES, CONTENTS), max_size=4),
    st.lists(
        st.sampled_from(
            [tarfile.REGTYPE] * 6 + [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
        ),
        min_size=4,
        max_size=4,
    ),
    st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    st.sampled_from(["work.tar", "work.tar.gz"]),
    REPEATS,
    st.data(),
)
def test_tars(
    members: list[tuple[str, bytes]],
    types: list[bytes],
    form: int,
    name: str,
    repeats: int,
    data: st.DataObject,
) -> None:
    members = [(inner, content * repeats) for inner, content in members]
    try:
        packed = _tar(members, types, form)
    except ValueError:  # A name that this form cannot hold.
        return
    files = _try(name, _recompressed(name, packed))
    written = {content for (_, content), kind in zip(members, types, strict=False) if kind == tarfile.REGTYPE}
    assert set((files or {}).values()) <= written
    _try(name, _recompressed(name, _changed(data, packed)))
    _try(name, _changed(data, _recompressed(name, packed)))


@FUZZ
@given(
    st.lists(st.tuples(NAMES, CONTENTS), max_size=4),
    st.lists(st.sampled_from([0, 0o100644, 0o100644, 0o120777, 0o10644, 0o40755]), min_size=4, max_size=4),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
    REPEATS,
    st.data(),
)
def test_zips(
    members: list[tuple[str, bytes]], modes: list[int], method: int, repeats: int, data: st.DataObject
) -> None:
    unique = [(name, content * repeats) for name, content in dict(members).items()]
    packed = _zip(unique, modes, method)
    files = _try("work.zip", packed)
    assert set((files or {}).values()) <= {content for _, content in unique}
    _try("work.zip", _changed(data, packed))


@FUZZ
@given(st.dictionaries(NAMES, st.binary(max_size=200), max_size=4), st.data())
def test_bundles_are_read_as_they_were_packed_or_refused(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    try:
        packed = archive.pack(files)
    except (archive.ArchiveError, ValueError):
        return
    for body in (packed, _changed(data, packed)):
        found: Any = None
        try:
            found = archive.read(body)
        except archive.ArchiveError:
            continue
        assert archive.pack(found) == body
        assert not any(archive.name_problem(name) for name in found)
