"""A seeded site with a real broker behind it and Chromium before it. A missing Chromium is a failure."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from server.embedded import Supervisor, start_broker

CHROMIUM = "/usr/bin/chromium"
SEED = Path(__file__).parents[1] / "server" / "web" / "seed.py"


@pytest.fixture(scope="session")
def seed() -> ModuleType:
    """Tests have no packages: what the pages' tests share is loaded by its path."""
    if "site_seed" not in sys.modules:
        spec = importlib.util.spec_from_file_location("site_seed", SEED)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["site_seed"] = module
        spec.loader.exec_module(module)
    return sys.modules["site_seed"]


@pytest.fixture(scope="session")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("broker")
    with Supervisor(home) as supervisor:
        yield start_broker(supervisor, home)


@pytest.fixture(scope="session")
def packed(seed: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return seed.pack(tmp_path_factory.mktemp("assignment") / "double")


@pytest.fixture(scope="session")
def sites(
    seed: ModuleType,
    packed: Any,
    broker_url: str,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Any]]:
    """Builds the same site on a database of each kind, once."""
    built: dict[str, Any] = {}

    def on(kind: str) -> Any:
        if kind not in built:
            folder = tmp_path_factory.mktemp("site")
            built[kind] = seed.build(folder, packed, new_database(kind), broker_url=broker_url)
        return built[kind]

    yield on
    for found in built.values():
        found.database.close()


@pytest.fixture
def database() -> str:
    """Which database the site is on; a module that wants both makes this a parameter."""
    return "sqlite"


@pytest.fixture
def site(sites: Callable[[str], Any], database: str) -> Any:
    return sites(database)


@pytest.fixture
def address(site: Any, seed: ModuleType) -> Iterator[str]:
    """Where the site answers."""
    with seed.serve(site.app) as found:
        yield found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser, address: str, seed: ModuleType) -> Iterator[Open]:
    """A fresh browser, logged in as somebody; whatever it complains about fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_(login: str | None = None, language: str = "en-GB", **options: Any) -> Page:
        context = chromium.new_context(base_url=address, locale=language, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        if login:
            page.goto("/login")
            page.fill("#login", login)
            page.fill("#password", seed.PASSWORD)
            page.click("main button")
            page.wait_for_url("**/courses")
        return page

    yield open_
    for context in contexts:
        context.close()
    # A connection that the test itself cuts is reported by the browser, and is no fault of the page.
    assert [line for line in complaints if "ERR_" not in line] == []
