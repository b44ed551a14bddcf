"""Archives at the server: what is honest is taken as files, what is hostile is refused with its reason."""

import importlib.util
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

PROGRAMS = Path(__file__).parents[2] / "hostile" / "programs" / "uploads"
API = "/api/v1/courses/demo/assignments/kernels/double/submissions"
PAGE = "/courses/demo/assignments/kernels/double/submissions"
SOURCE = b"def solve(x, y):\n    y.copy_(2 * x)\n"
Headers = Callable[..., dict[str, str]]
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def _hostile(path: Path, outside: Path) -> tuple[str, dict[str, bytes]]:
    """The rule that an upload of the corpus breaks, and its files."""
    rule = re.search(r"verdict=(\S+)", path.read_text())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert rule is not None
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return rule[1], module.upload(outside)


def _parts(files: dict[str, bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    return [("files", (name, data)) for name, data in files.items()]


def _zip(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"homework/{name.replace('_', '.')}", data)
    return buffer.getvalue()


def test_hostile_uploads_are_refused_at_the_api_and_the_page(
    client: httpx.Client, token: Headers, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "folder").mkdir(parents=True)
    (outside / "secret").write_text("secret")
    login = {"login": "ann", "password": "correct horse battery"}
    assert client.post("/api/v1/login", json=login).status_code == 200
    browser = {"Origin": str(client.base_url), "Accept": "text/html"}
    for path in sorted(PROGRAMS.glob("*.py")):
        rule, files = _hostile(path, outside)
        answer = client.post(API, files=_parts(files), headers=token("ann"))
        assert answer.status_code == 422, (path.name, answer.text)
        error = answer.json()["error"]
        # A header of a form cannot carry some names: they are refused by what is left of them.
        assert error["details"]["rule"] in {rule, "bad_name"}, path.name
        assert error["message"].isprintable()
        assert error["message_zh"]
        shown = client.post(PAGE, files=_parts(files), data={"mode": "grade"}, headers=browser)
        assert shown.status_code == 422, path.name
        assert 'id="submit"' in shown.text
    assert client.get("/api/v1/courses/demo/submissions", headers=token("ann")).json()["items"] == []
    assert sorted(entry.name for entry in outside.iterdir()) == ["folder", "secret"]


def test_an_honest_archive_is_taken_as_its_files_at_both_doors(client: httpx.Client, token: Headers) -> None:
    archive = {"work.zip": _zip(solution_py=SOURCE, notes_md=b"# notes\n")}
    created = client.post(API, files=_parts(archive), headers=token("ann"))
    assert created.status_code == 201, created.text
    assert sorted(file["name"] for file in created.json()["files"]) == ["notes.md", "solution.py"]
    assert created.json()["entry"] == "solution.py"
    address = f"/api/v1/submissions/{created.json()['id']}/files/solution.py"
    assert client.get(address, headers=token("ann")).content == SOURCE
    login = {"login": "ann", "password": "correct horse battery"}
    assert client.post("/api/v1/login", json=login).status_code == 200
    browser = {"Origin": str(client.base_url), "Accept": "text/html"}
    posted = client.post(PAGE, files=_parts(archive), data={"mode": "test"}, headers=browser)
    assert posted.status_code == 303, posted.text
    page = client.get(posted.headers["location"], headers=browser).text
    assert "notes.md" in page
    assert "work.zip" not in page


def test_a_bundle_of_text_in_json_is_no_archive(client: httpx.Client, token: Headers) -> None:
    answer = client.post(API, json={"files": {"work.zip": "PK"}}, headers=token("ann"))
    assert answer.json()["error"]["details"]["rule"] == "archive_damaged"
