"""Archives as honest people make them become plain files; what breaks a rule is in tests/hostile."""

import gzip
import io
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader import languages, upload
from grader.contract import MAX_FILE_BYTES, MAX_FILES, Language

SOURCE = b"def solve(x, y):\n    y.copy_(x)\n"
FILES = {"solution.py": SOURCE, "notes.md": "笔记\n".encode()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's folder, with what a desktop and Python have left in it."""
    folder = tmp_path / "my work"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__" / "solution.cpython-311.pyc").write_bytes(b"\0")
    for name in (".DS_Store", "._solution.py"):
        (folder / name).write_bytes(b"\0")
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("work.tar", ["--format=gnu"]),
        ("work.tar", ["--format=pax"]),
        ("work.tar", ["--format=ustar"]),
        ("work.tar.gz", ["-z"]),
        ("Work.TGZ", ["-z", "--format=pax"]),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_what_tar_packs_is_unpacked(folder: Path, name: str, options: list[str], inside: bool) -> None:
    archive = folder.parent / name
    where = ["-C", str(folder.parent), folder.name] if inside else ["-C", str(folder), "."]
    subprocess.run(["tar", "-cf", str(archive), *options, *where], check=True)
    assert upload.expand({name: archive.read_bytes()}) == FILES


def test_what_python_zips_is_unpacked(folder: Path) -> None:
    path = shutil.make_archive(str(folder.parent / "work"), "zip", folder.parent, folder.name)
    assert upload.expand({"work.zip": Path(path).read_bytes()}) == FILES


def test_long_names_are_read_in_every_form(tmp_path: Path) -> None:
    name = "n" * 120 + ".py"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(SOURCE)
            archive.addfile(member, io.BytesIO(SOURCE))
        assert upload.expand({"work.tar": buffer.getvalue()}) == {name: SOURCE}


def test_archives_and_files_come_together_under_different_names() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("kernels.py", b"import triton\n")
    files = {"solution.py": SOURCE, "more.zip": buffer.getvalue()}
    unpacked = upload.expand(files)
    assert unpacked == {"solution.py": SOURCE, "kernels.py": b"import triton\n"}
    assert languages.detect(unpacked) == (Language.TRITON, "solution.py")
    with pytest.raises(languages.FilesError) as refused:
        upload.expand({"kernels.py": b"", "more.zip": buffer.getvalue()})
    assert refused.value.text.code == "repeated_name"


@pytest.mark.parametrize("size", [MAX_FILE_BYTES, MAX_FILE_BYTES + 1])
def test_the_limit_is_the_size_of_what_is_unpacked(size: int) -> None:
    half = bytes(range(32, 127)) * (size // 95 + 1)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("solution.py", half[: size // 2])
        archive.writestr("part.py", half[: size - size // 2])
    if size <= MAX_FILE_BYTES:
        assert sum(map(len, upload.expand({"work.zip": buffer.getvalue()}).values())) == size
        return
    with pytest.raises(languages.FilesError) as refused:
        upload.expand({"work.zip": buffer.getvalue()})
    assert refused.value.text.code == "archive_too_large"


def _tar_gz(name: str, records: bytes) -> bytes:
    """A tar.gz of one file whose pax header has these records."""
    header, file = tarfile.TarInfo("records"), tarfile.TarInfo(name)
    header.type, header.size, file.size = tarfile.XHDTYPE, len(records), len(SOURCE)
    padded = [content + bytes(-len(content) % tarfile.BLOCKSIZE) for content in (records, SOURCE)]
    return gzip.compress(header.tobuf() + padded[0] + file.tobuf() + padded[1] + bytes(2 * tarfile.BLOCKSIZE))


def _zip(name: str, folders: int) -> bytes:
    """A zip of one file, and of folders."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, SOURCE)
        for number in range(folders):
            archive.writestr(f"folder{number}/", b"")
    return buffer.getvalue()


class Counted(bytes):
    """Bytes that count how many of them slices have copied, theirs included."""

    copied = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        Counted.copied += len(found) if isinstance(found, bytes) else 0
        return Counted(found) if isinstance(found, bytes) else found

    def partition(self, separator: Any) -> Any:
        parts = tuple(map(Counted, super().partition(separator)))
        Counted.copied += sum(map(len, parts))
        return parts


def test_a_header_of_many_records_is_read_once() -> None:
    records = b"10 atime=\n" * 5000
    assert upload.expand({"work.tar.gz": _tar_gz("solution.py", records)}) == {"solution.py": SOURCE}
    Counted.copied = 0
    assert upload._pax_path(Counted(records), "before") == "before"
    assert 0 < Counted.copied <= 4 * len(records)


@pytest.mark.parametrize(("form", "code"), [("tar.gz", "archive_too_large"), ("zip", "archive_entries")])
def test_the_limits_are_of_all_archives_together(form: str, code: str) -> None:
    records = b"10 atime=\n" * (upload.MAX_ARCHIVE_BYTES // 25)
    archives = {
        f"{number}.{form}": _tar_gz(f"{number}.py", records)
        if form == "tar.gz"
        else _zip(f"{number}.py", 400)
        for number in range(3)
    }
    for name, archive in archives.items():
        assert len(upload.expand({name: archive})) == 1
    with pytest.raises(languages.FilesError) as refused:
        upload.expand(archives)
    assert refused.value.text.code == code


@pytest.mark.parametrize("name", ["work.zip", "work.tar", "work.tar.gz"])
@pytest.mark.parametrize("data", [b"", b"not an archive", b"PK\x05\x06" + bytes(18), bytes(10240)])
def test_what_is_no_archive_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(languages.FilesError) as refused:
        upload.expand({name: data})
    assert refused.value.text.code in {"archive_damaged", "archive_empty"}


def test_a_file_that_is_no_archive_is_left_alone() -> None:
    files = {"solution.py": b"PK\x03\x04", "a.gz": b"\x1f\x8b"}
    assert upload.expand(files) == files


def test_the_page_on_security_states_these_limits() -> None:
    said = " ".join((Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8").split())
    assert f"At most {MAX_FILES} files and {MAX_FILE_BYTES >> 20} MiB" in said
    assert f"at most {upload.MAX_ENTRIES:,} entries" in said
    assert f"{upload.MAX_RATIO} times its size" in said
