"""Uploads over a slow line hold no transaction, and those that break off leave nothing behind."""

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select
from structlog.testing import capture_logs

from server.db.models import Submission
from server.db.session import Database

ADDRESS = "/courses/demo/assignments/kernels/double/submissions"
FIELDS = {"code": "def solve(x, y): ...\n", "mode": "test"}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "file", "status"),
    [(ADDRESS, "", 303), (f"/api/v1{ADDRESS}", "solution.py", 201)],
    ids=["page", "api"],
)
def test_a_slow_upload_keeps_nobody_waiting(
    client: httpx.Client, token: Callable[..., dict[str, str]], path: str, file: str, status: int
) -> None:
    origin = str(client.base_url).rstrip("/")
    login = {"login": "ann", "password": "correct horse battery"}
    assert client.post("/login", data=login, headers={"origin": origin}).status_code == 303
    files = [("files", (file, "def solve(x, y): ...\n" if file else ""))]
    request = client.build_request("POST", path, data=FIELDS, files=files, headers={"origin": origin})
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    body = request.read()
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=60) as line:
        line.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body[: len(body) // 2])
        time.sleep(0.5)  # The server waits for the rest by now.
        document = {"files": {"solution.py": "def solve(x, y): ...\n"}, "mode": "test"}
        answer = client.post(f"/api/v1{ADDRESS}", json=document, headers=token("bob"), timeout=60)
        assert answer.status_code == 201, answer.text
        line.sendall(body[len(body) // 2 :])
        assert int(line.recv(4096).split()[1]) == status


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("path", [ADDRESS, f"/api/v1{ADDRESS}"], ids=["page", "api"])
def test_an_upload_that_breaks_off_is_no_failure_of_ours(
    app: FastAPI, database: Database, token: Callable[..., dict[str, str]], path: str
) -> None:
    headers = {
        "content-type": "multipart/form-data; boundary=x",
        "cookie": "solmark_session=x",
        **token("ann"),
    }
    if not path.startswith("/api/"):
        del headers["Authorization"]
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    part = b'--x\r\nContent-Disposition: form-data; name="code"\r\n\r\ndef solve'
    messages = [{"type": "http.request", "body": part, "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    with capture_logs() as logged, ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, app(scope, receive, send)).result()
    assert messages == []
    assert [entry for entry in logged if entry["log_level"] in {"warning", "error"}] == []
    assert sent[0]["status"] == 400
    with database.read() as session:
        assert session.scalars(select(Submission)).all() == []
