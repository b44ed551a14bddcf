"""Handing in with a browser, and watching: live, over a lost connection, and without JavaScript."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import redis
from playwright.sync_api import Browser, Page, expect

from grader.contract import Event, Phase, events_key
from server.grading.progress import mark_changed

Open = Callable[..., Page]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """Everything here is done on both databases."""
    return str(request.param)


class Worker:
    """What a worker would tell the broker of one submission."""

    def __init__(self, broker_url: str, public_id: str) -> None:
        self._broker = redis.Redis.from_url(broker_url)
        self._id = public_id
        self._seq = 0

    def say(self, phase: Phase, text: str = "", done: int | None = None, total: int | None = None) -> None:
        self._seq += 1
        event = Event(
            attempt=1, seq=self._seq, time=time.time(), phase=phase, text=text, done=done, total=total
        )
        self._broker.xadd(events_key(self._id), {"event": event.model_dump_json()})

    def changed(self) -> None:
        mark_changed(self._broker, self._id)

    def close(self) -> None:
        self._broker.close()


def _paste(page: Page, seed: Any) -> str:
    page.goto(seed.ADDRESS)
    page.fill("#code", seed.SOLUTION)
    page.click("#submit button.primary")
    page.wait_for_url("**/submissions/*")
    return page.url.rpartition("/")[2]


def test_pasted_code_is_watched_live(open_page: Open, site: Any, seed: Any, broker_url: str) -> None:
    page = open_page("ada")
    page.goto(seed.ADDRESS)
    page.fill("#code", "import triton\n")
    expect(page.locator("[data-detected]")).to_have_text("Looks like Triton.")
    public_id = _paste(page, seed)
    page.evaluate("window.stayed = true")
    worker = Worker(broker_url, public_id)
    expect(page.locator("#state")).to_contain_text("In the queue")
    worker.say(Phase.BUILD, "compiling <b>x</b>")
    expect(page.locator("[data-phase=build]")).to_have_class("now")
    expect(page.locator("[data-text]")).to_have_text("compiling <b>x</b>")
    worker.say(Phase.TIMED, "round", done=3, total=8)
    expect(page.locator("[data-phase=build]")).to_have_class("done")
    expect(page.locator("[data-count]")).to_have_text("3 / 8")
    assert page.locator("progress").evaluate("bar => bar.value / bar.max") == 3 / 8
    seed.finish(site, public_id, "accepted")
    worker.changed()
    expect(page.locator(".verdict")).to_contain_text("61.0 %")
    assert page.evaluate("window.stayed"), "the page must not have been loaded anew"
    assert page.locator("[sse-connect]").count() == 0
    worker.close()


def test_a_page_opened_late_is_told_everything(
    open_page: Open, site: Any, seed: Any, broker_url: str
) -> None:
    page, public_id = open_page("ada"), seed.submit(site, "ada")
    worker = Worker(broker_url, public_id)
    worker.say(Phase.BUILD, "first")
    worker.say(Phase.PUBLIC, "second")
    page.goto(f"/submissions/{public_id}")
    expect(page.locator("[data-log]")).to_contain_text("first")
    expect(page.locator("[data-text]")).to_have_text("second")
    worker.close()


def test_a_lost_connection_is_taken_up_again(
    chromium: Browser, site: Any, seed: Any, broker_url: str
) -> None:
    public_id = seed.submit(site, "ada")
    worker = Worker(broker_url, public_id)
    page = chromium.new_page()
    with seed.serve(site.app) as address:
        page.goto(f"{address}/login")
        page.fill("#login", "ada")
        page.fill("#password", seed.PASSWORD)
        page.click("main button")
        page.goto(f"{address}/submissions/{public_id}")
        worker.say(Phase.BUILD, "before")
        expect(page.locator("[data-text]")).to_have_text("before")
    worker.say(Phase.TIMED, "while nobody heard")
    with seed.serve(site.app, int(address.rpartition(":")[2])):
        expect(page.locator("[data-text]")).to_have_text("while nobody heard", timeout=20_000)
        log = page.locator("[data-log]").text_content() or ""
        assert log.count("before") == 1, "it resumes, it does not begin again"
        seed.finish(site, public_id, "wrong")
        worker.changed()
        expect(page.locator(".verdict")).to_contain_text("Element 3 is not doubled.", timeout=20_000)
    page.close()
    worker.close()


@contextmanager
def _proxy_without_server(port: int) -> Iterator[threading.Event]:
    """What a proxy answers while the server behind it starts anew; the event says that somebody asked."""
    asked = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(502)
            asked.set()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing is printed."""

    with HTTPServer(("127.0.0.1", port), Answer) as stand_in:
        thread = threading.Thread(target=stand_in.serve_forever)
        thread.start()
        try:
            yield asked
        finally:
            stand_in.shutdown()
            thread.join()


@pytest.mark.parametrize("database", ["sqlite"])
def test_a_refused_connection_repeats_nothing(
    chromium: Browser, site: Any, seed: Any, broker_url: str
) -> None:
    public_id = seed.submit(site, "ada")
    worker = Worker(broker_url, public_id)
    page = chromium.new_page()
    with seed.serve(site.app) as address:
        page.goto(f"{address}/login")
        page.fill("#login", "ada")
        page.fill("#password", seed.PASSWORD)
        page.click("main button")
        page.goto(f"{address}/submissions/{public_id}")
        worker.say(Phase.BUILD, "before")
        expect(page.locator("[data-text]")).to_have_text("before")
    port = int(address.rpartition(":")[2])
    with _proxy_without_server(port) as asked:
        deadline = time.monotonic() + 30
        while not asked.is_set():
            assert time.monotonic() < deadline
            page.wait_for_timeout(100)
    worker.say(Phase.TIMED, "after")
    with seed.serve(site.app, port):
        expect(page.locator("[data-text]")).to_have_text("after", timeout=20_000)
        assert (page.locator("[data-log]").text_content() or "").count("before") == 1
    page.close()
    worker.close()


def test_everything_works_without_javascript(open_page: Open, site: Any, seed: Any) -> None:
    page = open_page("ada", java_script_enabled=False)
    public_id = _paste(page, seed)
    expect(page.locator("#state")).to_contain_text("In the queue")
    expect(page.locator("noscript")).not_to_have_count(0)
    seed.finish(site, public_id, "wrong")
    expect(page.locator(".verdict")).to_contain_text("Element 3 is not doubled.", timeout=15_000)
    page.goto("/courses")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("h1")).to_have_text("您的课程")
    page.get_by_role("button", name="退出").click()
    expect(page.locator("h1")).to_have_text("登录")


def test_chosen_files_are_listed_and_handed_in(open_page: Open, seed: Any) -> None:
    page = open_page("ada")
    page.goto(seed.ADDRESS)
    files = [
        {"name": name, "mimeType": "text/plain", "buffer": seed.SOLUTION.encode()}
        for name in ("solution.py", "helper.py")
    ]
    page.set_input_files("#files", files)  # type: ignore[arg-type]
    expect(page.locator("[data-chosen] li")).to_have_count(2)
    page.click("#submit button.primary")
    expect(page.locator("summary .mono")).to_have_text(["helper.py", "solution.py"])


def test_dropped_files_are_taken(open_page: Open, seed: Any) -> None:
    page = open_page("ada")
    page.goto(seed.ADDRESS)
    transfer = page.evaluate_handle(
        "code => { const all = new DataTransfer();"
        " all.items.add(new File([code], 'solution.py')); return all }",
        seed.SOLUTION,
    )
    page.dispatch_event("[data-drop]", "dragover", {"dataTransfer": transfer})
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": transfer})
    expect(page.locator("[data-chosen] li")).to_have_text(["solution.py (48 B)"])
    page.click("#submit button.primary")
    expect(page.locator("#state")).to_contain_text("In the queue")
