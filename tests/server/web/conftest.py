"""A seeded site on each database, and browsers without JavaScript: one for each person."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest


def _load_seed() -> ModuleType:
    """Tests have no packages: the module beside this file is loaded by its path."""
    spec = importlib.util.spec_from_file_location("site_seed", Path(__file__).with_name("seed.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["site_seed"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def seed() -> ModuleType:
    return sys.modules.get("site_seed") or _load_seed()


@pytest.fixture(scope="session")
def packed(seed: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return seed.pack(tmp_path_factory.mktemp("assignment") / "double")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(
    request: pytest.FixtureRequest,
    seed: ModuleType,
    packed: Any,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """The same site on each database."""
    found = seed.build(tmp_path_factory.mktemp("site"), packed, new_database(request.param))
    yield found
    found.database.close()


@pytest.fixture(scope="module")
def address(site: Any, seed: ModuleType) -> Iterator[str]:
    """Where the site answers."""
    with seed.serve(site.app) as found:
        yield found


Visit = Callable[..., httpx.Client]


@pytest.fixture
def visit(address: str, seed: ModuleType) -> Iterator[Visit]:
    """A browser of the person with that login (nobody if none), which reads HTML in a language."""
    with ExitStack() as opened:

        def open_client(login: str | None = None, language: str = "en") -> httpx.Client:
            headers = {"accept": "text/html", "accept-language": language, "origin": address}
            client = opened.enter_context(httpx.Client(base_url=address, headers=headers))
            if login:
                answer = client.post("/login", data={"login": login, "password": seed.PASSWORD})
                assert answer.status_code == 303, answer.text
            return client

        yield open_client
