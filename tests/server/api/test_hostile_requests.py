"""Requests that no browser sends: unreadable addresses, headers and values, and mixed credentials."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from server import formdata, security
from server.accounts import service as accounts
from server.db.session import Database
from server.errors import Invalid
from server.submissions.schemas import SubmissionBody
from server.submissions.uploads import DOCUMENTED
from server.web import forms

PASSWORD = "correct horse battery"
Headers = Callable[..., dict[str, str]]
SUBMIT = "/api/v1/courses/demo/assignments/kernels/double/submissions"
SOLUTION = {"files": {"solution.py": "def solve(x, y):\n    pass\n"}}


def _log_in(client: httpx.Client) -> None:
    answer = client.post("/api/v1/login", json={"login": "ann", "password": PASSWORD})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "address", ["//[", "/\\[", "//evil.example", "\\\\evil.example", "http://x", "/\ud800"]
)
def test_an_address_that_leads_elsewhere_or_nowhere_is_not_followed(address: str) -> None:
    assert forms.local_address(address) == "/"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_broken_addresses_and_headers_are_mistakes_of_the_client(client: httpx.Client) -> None:
    page = {"Accept": "text/html"}
    assert client.get("/login?next=//%5B", headers=page).status_code == 200
    chosen = client.post("/language", data={"language": "zh", "next": "/\\["})
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/")
    assert client.get("/courses/a%00b", headers=page).status_code == 404
    assert client.get("/login?next=%00", headers=page).status_code == 422
    _log_in(client)
    for origin in ("http://[", "http://]x", "", "//"):
        assert client.post(SUBMIT, json=SOLUTION, headers={"Origin": origin}).status_code == 403, origin
    form = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    body = b'--x\r\nContent-Disposition: form-data; name="login"\r\n\r\n\\ud800\r\n--x--\r\n'
    assert client.post("/login", content=body, headers=form).status_code == 422


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("value", ["Bearer smk_wrong", "Bearer", "Basic eDp5", "x"])
def test_a_cookie_never_counts_beside_an_authorization_header(client: httpx.Client, value: str) -> None:
    _log_in(client)
    answer = client.post(SUBMIT, json=SOLUTION, headers={"Authorization": value})
    assert answer.status_code in {401, 403}, answer.text
    assert client.get("/api/v1/me", headers={"Authorization": value}).status_code == 401
    evil = {"Authorization": value, "Origin": "https://evil.example"}
    assert client.post("/account/tokens", data={"name": "stolen"}, headers=evil).status_code == 403
    assert client.cookies.get(security.SESSION_COOKIE)


def test_who_is_unknown_is_told_so_whatever_was_sent(client: httpx.Client) -> None:
    for body in (b"", b"{", b'{"files": {}}'):
        answer = client.post(SUBMIT, content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not_logged_in")


@pytest.mark.parametrize("number", [0, 1 << 31, 1 << 62, 1 << 63, 10**40])
def test_ids_and_cursors_out_of_range_are_refused(client: httpx.Client, token: Headers, number: int) -> None:
    _log_in(client)
    headers = token("admin")
    assert client.delete(f"/api/v1/tokens/{number}", headers=headers).status_code == 422
    assert client.get(f"/courses/demo/submissions?before={number}").status_code == 422
    for path in ("members", "audit", "submissions"):
        answer = client.get(f"/api/v1/courses/demo/{path}?after={number}", headers=headers)
        assert answer.status_code == (422 if number else 200), answer.text
    assert client.get(f"/api/v1/courses/demo/audit?after={(1 << 31) - 1}", headers=headers).status_code == 200


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_that_cannot_be_stored_is_refused(
    client: httpx.Client, token: Headers, world: Any, text: str
) -> None:
    headers = token("admin") | {"Content-Type": "application/json"}
    course = {"slug": "new", "title_en": text, "title_zh": "x"}
    beat = {"worker": "w", "hardware": "cpu", "versions": {"deep": [{text: 1}]}}
    bodies = {
        "/api/v1/courses": course,
        "/api/v1/courses/demo/members": {"login": text},
        "/api/v1/users": {"login": "new", "name": text, text: 1},
        "/api/v1/login": {"login": text, "password": text},
        "/api/v1/tokens": {"name": text},
        SUBMIT: {"files": {text: "x"}},
        "/internal/heartbeat": beat,
    }
    for path, body in bodies.items():
        if path.startswith("/internal"):
            headers["Authorization"] = f"Bearer {world.node_token}"
        answer = client.post(path, content=json.dumps(body), headers=headers)
        assert answer.status_code == 422, (path, answer.text)
    form = {"login": "a\0b", "password": "a\0b"}
    assert client.post("/login", data=form).status_code == 422


def test_what_a_node_says_of_itself_is_flat_and_short(
    client: httpx.Client, token: Headers, world: Any
) -> None:
    node = {"Authorization": f"Bearer {world.node_token}", "Content-Type": "application/json"}
    deep = '{"a": ' + "[" * 300 + "]" * 300 + "}"
    for versions in (deep, '{"a": NaN}', '{"a": 1e999}', json.dumps({"a": "x" * 257}), '{"a": {}}'):
        beat = f'{{"worker": "w", "hardware": "cpu", "versions": {versions}}}'
        answer = client.post("/internal/heartbeat", content=beat, headers=node)
        assert answer.status_code == 422, (versions, answer.text)
    assert client.get("/api/v1/workers", headers=token("ta")).json()["items"] == []


def test_the_name_of_pasted_code_is_found_at_once_whatever_its_lines() -> None:
    # An expression that looked for `#` across lines would take hours, and no other request would be served.
    for filler in ("\n", " \n", " ", "\t", "#", "#\n", "# ", "\r\n"):
        assert forms.pasted_name(filler * (1 << 20) + "x", None) == "solution.py"
    assert forms.pasted_name("\n \t#  include <cmath>\n", None) == "solution.cpp"


@pytest.mark.parametrize(
    "date",
    [
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-12:00",
        "9999-12-31T00:00:00Z",
        "1999-12-31T00:00:00Z",
    ],
)
def test_dates_at_the_ends_of_the_calendar_are_refused(
    client: httpx.Client, token: Headers, date: str
) -> None:
    headers = token("admin")
    address = "/api/v1/courses/demo/assignments/kernels/double"
    for field in ("opens", "closes"):
        answer = client.patch(address, json={field: date}, headers=headers)
        assert answer.status_code == 422
        assert "from 2000 to 2200" in answer.json()["error"]["message"]
    body = {"name": "x", "expires": date}
    assert client.post("/api/v1/tokens", json=body, headers=headers).status_code == 422
    assert client.patch(address, json={"closes": "2200-12-31T00:00:00Z"}, headers=headers).status_code == 200


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_token_makes_and_revokes_nothing_beyond_itself(
    client: httpx.Client, database: Database, world: Any, token: Headers
) -> None:
    reader, submitter, staff = token("ann", "read"), token("ann", "read", "submit"), token("ann")
    listed = client.get("/api/v1/tokens", headers=staff).json()["items"]
    ids = {",".join(item["scopes"]): item["id"] for item in listed}

    def make(headers: dict[str, str], **given: Any) -> httpx.Response:
        body = {"name": "child", "scopes": ["read"]} | given
        return client.post("/api/v1/tokens", json=body, headers=headers)

    def revoke(headers: dict[str, str], scopes: str) -> int:
        return client.delete(f"/api/v1/tokens/{ids[scopes]}", headers=headers).status_code

    assert make(reader).status_code == 403
    assert make(submitter).status_code == 201
    assert make(submitter, scopes=["staff"]).status_code == 403
    assert revoke(reader, "read,submit") == 403
    assert revoke(submitter, "read,staff,submit") == 403
    assert revoke(submitter, "read") == 204
    assert client.get("/api/v1/me", headers=reader).status_code == 401
    assert revoke(staff, "read,staff,submit") == 204  # Itself.
    expires = datetime(2100, 1, 1, tzinfo=UTC)
    with database.begin() as session:
        _, secret = accounts.create_token(session, world.ann, name="short", expires=expires)
    short = {"Authorization": f"Bearer {secret}"}
    assert make(short).json()["expires"] == "2100-01-01T00:00:00Z"
    assert make(short, expires="2100-01-01T00:00:01Z").status_code == 422
    assert make(short, expires="2099-01-01T00:00:00Z").json()["expires"] == "2099-01-01T00:00:00Z"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_pages_answer_head_without_a_body(client: httpx.Client) -> None:
    for path, status in (("/login", 200), ("/static/none.css", 404), ("/courses", 401), ("/none", 404)):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (status, b""), path
    assert client.head("/api/v1/version").status_code == 405


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_a_page_refuses_comes_back_with_the_draft(client: httpx.Client) -> None:
    _log_in(client)
    headers = {"Origin": str(client.base_url), "Accept": "text/html"}
    address = "/courses/demo/assignments/kernels/double/submissions"

    def post(count: int = 0, **fields: str) -> httpx.Response:
        files = [("files", (f"f{number}.py", b"x = 1")) for number in range(count)]
        return client.post(address, data=fields, files=files or [("files", ("", b""))], headers=headers)

    large = post(code="marker = 1\n" + "#" * (1 << 20))
    assert large.status_code == 413
    assert "marker = 1" in large.text
    assert "at most 1048576" in large.text
    for count in (65, 66, 200):
        many = post(count, code="marker = 1")
        assert many.status_code == 422
        assert f"{count + 1} files were handed in; at most 64 are taken." in many.text
        assert "marker = 1" in many.text
    assert post(1001).status_code == 422
    for mode in ("", "GRADE", "profile", "x"):
        refused = post(code="marker = 1", mode=mode)
        assert refused.status_code == 422
        assert "one of test, grade" in refused.text
    assert client.get("/api/v1/courses/demo/submissions").json()["items"] == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_too_many_files_are_refused_alike_however_many(client: httpx.Client, token: Headers) -> None:
    for count in (65, 66, 300):
        files = [("files", (f"f{number}.py", b"x = 1")) for number in range(count)]
        error = client.post(SUBMIT, files=files, headers=token("ann")).json()["error"]
        assert error["details"]["rule"] == "too_many_files"
        assert error["message"].startswith(f"{count} files were handed in")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_form_without_its_end_is_refused_whoever_reads_it(client: httpx.Client, token: Headers) -> None:
    kind = {"Content-Type": 'multipart/form-data; boundary="x-1"'}
    part = b'--x-1\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n%s\r\n'
    first = part % (b"solution.py", b"def solve(x, y):\n    import helper\n")
    second = part % (b"helper.py", b"x = 1\n--x-1-")
    for body in (first, first + second, first + second + b"--x-1", first + second[:-2] + b"--x-1--"):
        refused = client.post(SUBMIT, content=body, headers=kind | token("ann"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid"), body
        assert "its end is missing" in refused.json()["error"]["message"]
    whole = client.post(SUBMIT, content=first + second + b"--x-1--\r\n", headers=kind | token("ann"))
    assert [file["name"] for file in whole.json()["files"]] == ["helper.py", "solution.py"]
    login = b'--x-1\r\nContent-Disposition: form-data; name="login"\r\n\r\nann\r\n'
    assert client.post("/login", content=login, headers=kind).status_code == 422
    assert client.post("/login", content=login + b"--x-1--", headers=kind).status_code in {401, 422}


def test_the_end_of_a_form_is_found_however_it_is_cut() -> None:
    body = b"--x\r\n\r\n--x-\r\n--x--\r\n"
    for size in range(1, len(body) + 1):
        chunks = [body[start : start + size] for start in range(0, len(body), size)]
        seen = formdata.watch("multipart/form-data; boundary=x")
        for chunk in chunks:
            seen(chunk, True)
        seen(b"", False)
        short = formdata.watch("multipart/form-data; boundary=x")
        with pytest.raises(Invalid):
            short(body.replace(b"--x--", b"--x-"), False)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("path", [SUBMIT, "/login", "/account/tokens"])
def test_a_form_of_empty_fields_is_not_read(client: httpx.Client, token: Headers, path: str) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    headers = kind | (token("ann") if path == SUBMIT else {})
    body = b"login=x" + b"&" * formdata.MAX_PARTS
    refused = client.post(path, content=body, headers=headers)
    assert refused.status_code == 422
    assert f"at most {formdata.MAX_PARTS} fields" in refused.text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("mode", ["xx", "profile", "", None, 3, ["grade"], {"a": 1}])
def test_a_mode_that_is_not_offered_is_answered_with_those_that_are(
    client: httpx.Client, token: Headers, mode: Any
) -> None:
    refused = client.post(SUBMIT, json=SOLUTION | {"mode": mode}, headers=token("ann"))
    error = refused.json()["error"]
    assert (refused.status_code, error["message"]) == (422, "body.mode: Input should be 'test' or 'grade'")
    assert error["message_zh"] == "body.mode：须为 'test'、'grade' 之一"


def test_the_api_says_how_to_say_who_asks(app: FastAPI) -> None:
    document = app.openapi()
    schemes = document["components"]["securitySchemes"]
    assert {name: scheme["type"] for name, scheme in schemes.items()} == {
        "token": "http", "session": "apiKey", "node": "http",
    }  # fmt: skip
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            needs = {name for one in operation.get("security", []) for name in one}
            if path.startswith("/internal/"):
                assert needs == {"node"}, (method, path)
            elif path.startswith("/api/") and path.rpartition("/")[2] not in {"login", "logout", "version"}:
                assert needs == {"token", "session"}, (method, path)


def test_the_api_documents_only_modes_that_are_offered() -> None:
    assert SubmissionBody.model_json_schema()["properties"]["mode"]["enum"] == ["test", "grade"]
    assert DOCUMENTED["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]["mode"][
        "enum"
    ] == ["test", "grade"]


def test_the_web_process_logs_failures_as_json_without_variables(tmp_path: Path) -> None:
    script = """
import logging
from server.cli import web
web()
def fail(password):
    raise ValueError("broken")
try:
    fail("a secret" + " password")
except ValueError as error:
    import structlog
    structlog.get_logger("x").error("request failed", exc_info=error)
    logging.getLogger("uvicorn.error").exception("failed")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"SOLMARK_SERVER_HOME": str(tmp_path), "SOLMARK_BROKER_URL": "redis://127.0.0.1:1/0"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("{") and "ValueError: broken" in line for line in lines)
    assert "a secret password" not in done.stdout + done.stderr
