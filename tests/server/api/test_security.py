"""Cookies, requests from other sites, headers, and secrets."""

from collections.abc import Callable

import httpx
import pytest

from server import credentials, security
from server.settings import Settings

PASSWORD = "correct horse battery"
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SUBMIT = "/api/v1/courses/demo/assignments/kernels/double/submissions"
SOLUTION = {"files": {"solution.py": "def solve(x, y):\n    pass\n"}}


def _log_in(client: httpx.Client) -> str:
    answer = client.post("/api/v1/login", json={"login": "ann", "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    value = client.cookies.get(security.SESSION_COOKIE)
    assert value
    return value


def test_a_session_ends_with_logout_even_for_who_kept_the_cookie(client: httpx.Client) -> None:
    kept = _log_in(client)
    origin = {"Origin": str(client.base_url)}
    assert client.get("/api/v1/me").json()["login"] == "ann"
    assert client.post("/api/v1/logout", headers=origin).status_code == 204
    client.cookies.clear()
    assert (
        client.get("/api/v1/me", headers={"Cookie": f"{security.SESSION_COOKIE}={kept}"}).status_code == 401
    )


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Origin": "{own}"}, True),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "{own}.evil.example"}, False),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({}, False),
        ({"X-Solmark-Form": "{token}"}, True),
        ({"X-Solmark-Form": "0" * 64}, False),
    ],
)
def test_a_cookie_counts_only_for_requests_of_our_own_pages(
    client: httpx.Client, settings: Settings, headers: dict[str, str], allowed: bool
) -> None:
    cookie = _log_in(client)
    known = {"own": str(client.base_url), "token": credentials.form_token(settings, cookie)}
    sent = {name: value.format(**known) for name, value in headers.items()}
    answer = client.post(SUBMIT, json=SOLUTION, headers=sent)
    assert answer.status_code == (201 if allowed else 403), answer.text
    if not allowed:
        assert answer.json()["error"]["code"] == "cross_site"
    assert client.get("/api/v1/me", headers=sent).status_code == 200  # Reading changes nothing.


def test_another_site_cannot_log_a_browser_in(client: httpx.Client) -> None:
    body = {"login": "ann", "password": PASSWORD}
    for path, sent in (("/api/v1/login", {"json": body}), ("/login", {"data": body})):
        answer = client.post(path, headers={"Origin": "https://evil.example"}, **sent)  # type: ignore[arg-type]
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_tokens_are_for_the_api_alone(client: httpx.Client, token: Callable[..., dict[str, str]]) -> None:
    assert client.get("/account", headers=token("ann")).status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/version", "/login", "/none", "/static/none.css", "/api/v1/me"])
def test_every_answer_carries_the_security_headers(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_repeated_failures_are_answered_429(client: httpx.Client, settings: Settings) -> None:
    body = {"login": "ann", "password": "wrong"}
    for _ in range(settings.login_attempts):
        assert client.post("/api/v1/login", json=body).status_code == 401
    answer = client.post("/api/v1/login", json=body)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
