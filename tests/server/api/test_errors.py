"""Every error of every route has the one shape, whoever asks and however wrong."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from server.db.session import Database

Headers = Callable[..., dict[str, str]]
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
_PARAMETERS = {"token_id": "999999", "sha256": "0" * 64, "digest": "0" * 64}
_PUBLIC = {"/healthz", "/readyz", "/metrics", "/api/v1/version"}
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _is_error(answer: httpx.Response) -> bool:
    """Whether it is an error; fails if it is one of another shape."""
    if answer.status_code < 400:
        return False
    assert answer.headers["content-type"] == "application/json", answer.text
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "message_zh", "details"}
    assert re.fullmatch(r"[a-z][a-z_]{2,40}", body["error"]["code"])
    assert body["error"]["message"]
    assert re.search(r"[\u4e00-\u9fff]", body["error"]["message_zh"])
    assert isinstance(body["error"]["details"], dict)
    assert answer.headers["X-Solmark-Version"]
    assert answer.headers["X-Request-Id"]
    return True


def _routes(app: FastAPI) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in app.openapi()["paths"].items():
        filled = re.sub(r"\{(\w+)\}", lambda found: _PARAMETERS.get(found.group(1), "no-such"), path)
        for method, operation in operations.items():
            yield method.upper(), filled, operation


def test_nobody_gets_in(client: httpx.Client, app: FastAPI) -> None:
    routes = list(_routes(app))
    assert len(routes) > 35
    for method, path, _ in routes:
        answer = client.request(method, path)
        assert _is_error(answer) or path in _PUBLIC or path == "/api/v1/logout", (method, path)
        assert answer.status_code in {200, 204, 401, 422}, (method, path, answer.status_code)


def test_a_student_who_asks_for_what_is_not_there(client: httpx.Client, app: FastAPI, token: Headers) -> None:
    headers = token("ann")
    for method, path, operation in _routes(app):
        kinds = operation.get("requestBody", {}).get("content", {})
        kwargs: dict[str, Any] = {"json": {}} if "application/json" in kinds else {}
        answer = client.request(method, path, headers=headers, **kwargs)
        if _is_error(answer):
            assert answer.status_code in {401, 403, 404, 409, 422}, (method, path, answer.text)
        else:
            assert "no-such" not in path, (method, path)


def test_garbage_as_a_body(client: httpx.Client, app: FastAPI, token: Headers) -> None:
    headers = token("admin")
    kinds = ("application/json", "multipart/form-data; boundary=x")
    bodies = (b"{", b"[" * 5000, b"null", b"\xff\xfe", b"--x\r\n\r\n")
    posts = [route for route in _routes(app) if route[0] in {"POST", "PATCH"} and route[2].get("requestBody")]
    assert posts
    bad = [*itertools.product(kinds, bodies), ("multipart/form-data", b"--"), ("text/plain", b"x"), ("", b"")]
    for (method, path, _), (kind, body) in itertools.product(posts, bad):
        sent = {**headers, "Content-Type": kind} if kind else headers
        answer = client.request(method, path, content=body, headers=sent)
        assert _is_error(answer), (method, path, kind, body)
        assert answer.status_code < 500, (method, path, kind, body, answer.text)


def test_other_methods_are_answered_405(client: httpx.Client, app: FastAPI) -> None:
    paths: dict[str, set[str]] = {}
    for method, path, _ in _routes(app):
        paths.setdefault(path, set()).add(method)
    for path, methods in paths.items():
        method = min(set(_METHODS) - methods)
        answer = client.request(method, path)
        assert _is_error(answer), (method, path)
        assert answer.status_code == 405, (method, path, answer.status_code)


@pytest.mark.parametrize("path", ["/api/v1/none", "/api/none", "/internal/none", "/api/v1/../../etc/passwd"])
def test_unknown_addresses(client: httpx.Client, path: str) -> None:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/json") or not path.startswith(
        ("/api/v1/none", "/api/none", "/internal")
    )


def test_bad_query_values_are_named_but_not_repeated(client: httpx.Client, token: Headers) -> None:
    answer = client.get("/api/v1/courses/demo/submissions?limit=0&after=x", headers=token("ann"))
    assert _is_error(answer)
    assert answer.status_code == 422
    fields = [fault["field"] for fault in answer.json()["error"]["details"]["fields"]]
    assert fields == ["query.limit", "query.after"]
    answer = client.post("/api/v1/login", json={"login": "ann", "password": ["hunter2"]})
    assert answer.status_code == 422
    assert "hunter2" not in answer.text


def test_a_body_over_the_limit_is_refused_before_and_while_it_is_read(
    client: httpx.Client, app: FastAPI, token: Headers
) -> None:
    limit = app.state.settings.body_bytes
    path = "/api/v1/courses/demo/assignments/kernels/double/submissions"
    said = client.post(path, content=b"x" * (limit + 1), headers=token("ann"))
    assert said.status_code == 413
    assert said.json()["error"]["details"] == {"limit": limit}

    def chunks() -> Iterator[bytes]:
        for _ in range(limit // 65536 + 2):
            yield b"x" * 65536

    headers = {**token("ann"), "Content-Type": "application/json"}
    try:
        streamed = client.post(path, content=chunks(), headers=headers)
    except httpx.WriteError:
        return  # It hung up on us, which is as good.
    assert _is_error(streamed)
    assert streamed.status_code == 413


def test_what_breaks_inside_is_500_and_tells_nothing(client: httpx.Client, app: FastAPI) -> None:
    class Broken:
        def read(self) -> None:
            raise RuntimeError("secret detail")

    whole, app.state.database = app.state.database, Broken()
    try:
        answer = client.get("/readyz")
    finally:
        app.state.database = whole
    assert answer.status_code == 500
    assert _is_error(answer)
    assert "secret detail" not in answer.text
    assert answer.json()["error"]["details"]["request"] == answer.headers["X-Request-Id"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_success_is_answered_only_after_the_commit(client: httpx.Client, app: FastAPI) -> None:
    whole: Database = app.state.database

    class DiskFull:
        read = whole.read

        @contextmanager
        def begin(self) -> Iterator[Session]:
            with whole.begin() as session:
                yield session
                session.rollback()
            raise OperationalError("COMMIT", {}, Exception("disk full"))

    body = {"login": "ann", "password": "correct horse battery"}
    app.state.database = DiskFull()
    try:
        answer = client.post("/api/v1/login", json=body)
    finally:
        app.state.database = whole
    assert answer.status_code == 503
    assert _is_error(answer)
    assert "set-cookie" not in answer.headers
    assert client.post("/api/v1/login", json=body).status_code == 200


def test_a_database_that_is_away_is_503(client: httpx.Client, app: FastAPI) -> None:
    away = Database("postgresql+psycopg://nobody@/none?host=/nowhere", pool=1)
    whole, app.state.database = app.state.database, away
    try:
        answer = client.get("/readyz")
    finally:
        app.state.database = whole
        away.close()
    assert answer.status_code == 503
    assert _is_error(answer)
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "sent", "found"),
    [
        ("GET", "/api/v1/tokens?limit=0", None, "不得小于 1"),
        ("GET", "/api/v1/tokens?limit=x", None, "须为整数"),
        ("POST", "/api/v1/tokens", {}, "缺少这个字段"),
        ("POST", "/api/v1/tokens", {"name": ""}, "至少 1 个字符"),
        ("POST", "/api/v1/tokens", {"name": "x" * 65}, "最多 64 个字符"),
        ("POST", "/api/v1/tokens", {"name": "x", "scopes": ["root"]}, "须为 'read'、'submit'、'staff' 之一"),
        ("POST", "/api/v1/tokens", {"name": "x", "scopes": []}, "至少 1 项"),
        ("POST", "/api/v1/tokens", {"name": "x", "no": 1}, "没有这个字段"),
        ("POST", "/api/v1/tokens", {"name": "x\0"}, "须为不含 NUL"),
        ("POST", "/api/v1/tokens", {"name": "x", "expires": "soon"}, "须为带时区的时间"),
        ("POST", "/api/v1/tokens", {"name": "x", "expires": "2026-11-30T00:00:00"}, "须带时区"),
        ("POST", "/api/v1/tokens", {"name": "x", "expires": "1999-11-30T00:00:00Z"}, "2000 年至 2200 年"),
        ("POST", "/api/v1/tokens", [], "须为对象"),
        ("POST", "/api/v1/users", {"login": 7, "name": "x", "email": "x"}, "须为文本"),
    ],
)
def test_an_invalid_value_is_explained_in_both_languages(
    client: httpx.Client, token: Headers, method: str, path: str, sent: Any, found: str
) -> None:
    answer = client.request(method, path, json=sent, headers=token("admin"))
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert found in error["message_zh"]
    for fault in error["details"]["fields"]:
        assert fault["message"]
        assert re.search(r"[\u4e00-\u9fff]", fault["message_zh"])
        assert not re.search(r"[a-z]{3,} [a-z]{2,}", fault["message_zh"]), "no English sentence"


def test_openapi_documents_the_error_shape(app: FastAPI) -> None:
    document = app.openapi()
    for method, path, operation in _routes(app):
        if path in {"/healthz", "/readyz", "/metrics"}:
            continue
        default = operation["responses"]["default"]["content"]["application/json"]["schema"]
        assert default == {"$ref": "#/components/schemas/ErrorDocument"}, (method, path)
    assert "HTTPValidationError" not in json.dumps(document["paths"])


def test_openapi_refers_to_nothing_that_is_not_in_it(app: FastAPI) -> None:
    document = app.openapi()

    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (item for key, item in value.items() if key == "$ref")
            for item in value.values():
                yield from references(item)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    found = set(references(document))
    assert len(found) > 20
    for reference in found:
        place: Any = document
        for key in reference.removeprefix("#/").split("/"):
            assert key in place, reference
            place = place[key]
