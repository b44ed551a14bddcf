"""Many streams that are open at once."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from server.grading import events

FOLLOWERS = 60
"""More than the threads that the application has."""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_hundreds_of_followers_keep_nobody_waiting(
    client: httpx.Client, token: Any, submit: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, headers = f"/api/v1/submissions/{submit()}/events", token("ann")
    release, asked = threading.Event(), threading.Event()
    reads = events._state

    def slow(*arguments: Any) -> Any:
        asked.set()
        assert release.wait(60)
        return reads(*arguments)

    monkeypatch.setattr(events, "_state", slow)
    limits = httpx.Limits(max_connections=None)
    with ExitStack() as stack:
        stack.callback(release.set)
        browser = stack.enter_context(httpx.Client(base_url=client.base_url, limits=limits, timeout=30))
        streams = [
            stack.enter_context(browser.stream("GET", address, headers=headers)) for _ in range(FOLLOWERS)
        ]
        assert asked.wait(30)
        assert client.get("/api/v1/me", headers=headers).status_code == 200
        release.set()
        for stream in streams:
            assert next(stream.iter_raw()).startswith(b"event: state")
