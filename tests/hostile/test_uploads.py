"""Every hostile upload is refused with its reason, and harms whoever unpacks it as it asks to be unpacked."""

import importlib.util
import os
import re
import tarfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from grader import languages, upload

NAMED = os.environ.get("HOSTILE", "all").split(",")
UPLOADS = [
    path
    for path in sorted((Path(__file__).parent / "programs" / "uploads").glob("*.py"))
    if NAMED == ["all"] or path.name in NAMED
]
_HEADER = re.compile(r"# hostile: family=upload verdict=(\S+)\n")


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _unpack_as_asked(files: dict[str, bytes], folder: Path) -> None:
    """What a server without rules does. Raises whatever an archive makes it raise."""
    for name, data in files.items():
        if name.endswith(".zip"):
            with zipfile.ZipFile(BytesIO(data)) as archive:
                for entry in archive.infolist():
                    if (entry.external_attr >> 28) == 0o12:
                        (folder / entry.filename).symlink_to(archive.read(entry).decode())
                        continue
                    path = Path(os.path.join(folder, entry.filename))  # noqa: PTH118
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(entry))
        elif ".tar" in name:
            with tarfile.open(fileobj=BytesIO(data), errorlevel=2) as archive:
                archive.extractall(folder, filter="fully_trusted")
        else:
            (folder / name).write_bytes(data)


def _verdict(files: dict[str, bytes]) -> str:
    """`accepted`, or the code of the refusal."""
    try:
        languages.check(upload.expand(files))
    except languages.FilesError as refused:
        return refused.text.code
    return "accepted"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a secret, in which somebody unpacks."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("path", UPLOADS, ids=lambda path: path.stem)
def test_a_hostile_upload_is_refused(path: Path, outside: Path, record: Callable[..., None]) -> None:
    expected = _HEADER.match(path.read_text())
    assert expected is not None
    files = _module(path).upload(outside)
    with pytest.raises(languages.FilesError) as refused:
        languages.check(upload.expand(files))
    found = refused.value.text
    canary = _verdict({"solution.py": b"def solve(x, y):\n    pass\n"})
    record(
        check="contained",
        program=path.name,
        family="upload",
        backend="",
        expected=expected[1],
        verdict=found.code,
        expected_at_build="",
        verdict_at_build="",
        escaped=(outside / "escaped.py").exists(),
        left=len(list((outside / "folder").iterdir())),
        canary=canary,
    )
    assert (found.code, canary) == (expected[1], "accepted")
    assert found.en.isprintable()
    assert found.zh
    assert sorted(entry.name for entry in outside.iterdir()) == ["folder", "secret"]
    assert not list((outside / "folder").iterdir())


@pytest.mark.parametrize("path", UPLOADS, ids=lambda path: path.stem)
def test_the_same_upload_harms_who_unpacks_it_as_asked(
    path: Path, outside: Path, record: Callable[..., None]
) -> None:
    module, error = _module(path), None
    try:
        _unpack_as_asked(module.upload(outside), outside / "folder")
    except (OSError, RuntimeError, tarfile.TarError) as raised:
        error = raised
    harmful = module.harm(outside / "folder", outside, error)
    record(
        check="control",
        program=path.name,
        family="upload",
        backend="",
        lift="unpacker",
        expected="harm",
        harmful=bool(harmful),
    )
    assert harmful
