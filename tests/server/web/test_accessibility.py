"""Every page there is, in both languages: what a screen reader, a keyboard and weak eyes need."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

import server
from server.web.render import STATIC_FOLDER

Visit = Callable[..., httpx.Client]
SERVER = Path(server.__file__).parent
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Outline(HTMLParser):
    """The elements of a page with their attributes and their text; fails where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self._open: list[int] = []
        self.feed(page)
        assert not self._open, [self.elements[index] for index in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.texts[index] = self.texts.get(index, "") + data

    def all(self, *tags: str) -> Iterator[tuple[dict[str, str | None], str]]:
        """Attributes and text of all elements of these kinds."""
        for index, (tag, attributes) in enumerate(self.elements):
            if tag in tags:
                yield attributes, self.texts.get(index, "").strip()


def _addresses(site: Any, seed: Any) -> list[str]:
    """An address for each GET route of the pages; a route without one here fails."""
    fills = {"slug": "demo", "track": "kernels", "name": "double"}
    special: dict[str, list[str]] = {
        "/": [],  # Leads on to another page.
        "/courses/{slug}/assignments/{track}/{name}/starter": [],
        "/courses/{slug}/assignments/{track}/{name}/files/{path:path}": [],
        "/submissions/{public_id}/files/{name:path}": [],
        "/submissions/{public_id}/transcripts/{case:path}": [],
        "/courses/{slug}/scores.csv": [],
        "/courses/{slug}/assignments/{track}/{name}/board.csv": [],
        "/submissions/{public_id}": [f"/submissions/{found}" for found in site.submissions.values()],
        "/login": [],
    }
    found: list[str] = ["/nothing"]
    modules = [import_module(f"server.{path.parent.name}.pages") for path in SERVER.glob("*/pages.py")]
    for route in (route for module in modules for route in module.router.routes):
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            path = route.path
            found += special[path] if path in special else [path.format(**fills)]
    assert len(found) > 12
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page(visit: Visit, site: Any, seed: Any, language: str) -> None:
    client, stranger = visit("tara", language), visit(None, language)
    pages = {address: client.get(address) for address in _addresses(site, seed)}
    pages["/login"] = stranger.get("/login")
    pages["/login?failed"] = stranger.post("/login", data={"login": "x", "password": "y"})
    pages["refused"] = client.post(f"{seed.ADDRESS}/submissions", data={"code": ""})
    for address, answer in pages.items():
        assert answer.status_code in {200, 401, 404, 422}, (address, answer.status_code)
        _check(Outline(answer.text), address, {"en": "en", "zh": "zh-Hans"}[language])


def _check(page: Outline, address: str, language: str) -> None:
    assert next(page.all("html"))[0]["lang"] == language, address
    assert all(text for _, text in page.all("title", "h1", "h2", "h3", "h4", "th", "summary")), address
    assert len(list(page.all("h1"))) == 1, address
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), (
        address,
        levels,
    )
    for attributes, _ in page.all("img"):
        assert attributes.get("alt"), (address, attributes)
    for attributes, text in page.all("a", "button"):
        assert text or attributes.get("aria-label"), (address, attributes)
    labelled = {attributes.get("for") for attributes, text in page.all("label") if text}
    for attributes, _ in page.all("input", "select", "textarea"):
        assert attributes.get("type") == "hidden" or attributes.get("id") in labelled, (address, attributes)
    identities = Counter(attributes["id"] for _, attributes in page.elements if attributes.get("id"))
    assert max(identities.values()) == 1, (address, identities)
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert attributes.get(name) is None or attributes[name] in identities, (address, attributes)
        assert "style" not in attributes, (address, attributes)
        assert not any(name.startswith("on") for name in attributes), (address, attributes)
    for attributes, _ in page.all("svg"):
        assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true", (
            address,
            attributes,
        )
    for attributes, _ in page.all("th"):
        assert attributes.get("scope") in {"col", "row"}, address
    first = next(attributes for tag, attributes in page.elements if tag == "a")
    assert first["href"] == "#content", address


def _tokens(dark: bool) -> dict[str, str]:
    light, _, night = (STATIC_FOLDER / "tokens.css").read_text("utf-8").partition("@media")
    found = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", light))
    return found | (dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", night)) if dark else {})


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


TEXT = [
    *((ink, ground) for ink in ("ink", "muted", "link") for ground in ("paper", "surface", "sunken")),
    *((tone, f"{tone}-soft") for tone in ("good", "bad", "warn", "info")),
    *(("ink", f"{tone}-soft") for tone in ("good", "bad", "warn", "info")),
    *((f"code-{kind}", "sunken") for kind in ("comment", "keyword", "string", "number", "name")),
    ("muted", "warn-soft"), ("link", "warn-soft"), ("bad", "surface"), ("bad", "sunken"),
    ("accent-ink", "accent"),
]  # fmt: skip
SHAPES = [
    *((f"part-{index}", "surface") for index in range(8)),
    ("line-strong", "surface"), ("line-strong", "paper"), ("focus", "paper"), ("focus", "surface"),
    ("accent", "surface"),
]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(dark: bool) -> None:
    colours = _tokens(dark)
    for pairs, least in ((TEXT, 4.5), (SHAPES, 3.0)):
        for front, back in pairs:
            found = _contrast(colours[front], colours[back])
            assert found >= least, f"{front} on {back}: {found:.2f}, at least {least}"
