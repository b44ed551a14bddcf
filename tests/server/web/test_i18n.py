"""Both languages are complete, and no template says anything that only one of them knows."""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po

import server
from server.web import i18n

ROOT = Path(server.__file__).parent
KEYWORDS = {"_": None, "gettext": None, "N_": None, "ngettext": (1, 2)}
UPDATE = "server/web/locale/babel.cfg says how to update the catalogues"


def _extracted() -> set[str]:
    with (i18n.LOCALE_FOLDER / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    found = extract_from_dir(str(ROOT), methods, options, keywords=KEYWORDS)
    return {message if isinstance(message, str) else message[0] for _, _, message, _, _ in found}


def _catalogue(language: str) -> Catalog:
    with (i18n.LOCALE_FOLDER / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file)


@pytest.mark.parametrize("language", [code for code in i18n.LANGUAGES if code != i18n.DEFAULT])
def test_every_message_is_translated_and_none_is_left_over(language: str) -> None:
    wanted = _extracted()
    assert len(wanted) > 200
    entries = {
        entry.id if isinstance(entry.id, str) else entry.id[0]: entry
        for entry in _catalogue(language)
        if entry.id
    }
    assert wanted - set(entries) == set(), UPDATE
    assert set(entries) - wanted == set(), UPDATE
    for message, entry in entries.items():
        strings = [entry.string] if isinstance(entry.string, str) else list(entry.string or ())
        assert all(strings), message
        assert not entry.fuzzy, message
        names = set(re.findall(r"%\((\w+)\)s", message)) | ({"num"} if entry.pluralizable else set())
        for text in strings:
            assert set(re.findall(r"%\((\w+)\)s", text)) == names, message
            assert text.count("%%") == message.count("%%"), message


def test_templates_have_no_text_of_their_own() -> None:
    names = {"Solmark", "API", "stdout", "stderr", "×"}
    for template in (ROOT / "web" / "templates").rglob("*.html"):
        source = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", template.read_text("utf-8"), flags=re.DOTALL)
        shown = re.sub(r"<code\b.*?</code>|<meta\b.*?>", " ", source, flags=re.DOTALL)
        spoken = " ".join(re.findall(r'\b(?:title|alt|aria-label|placeholder)="([^"]*)"', shown))
        words = re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]*>", " ", shown) + " " + spoken)
        assert set(words) <= names, (template.name, set(words) - names)


@pytest.mark.parametrize(
    ("cookie", "accept", "language"),
    [
        (None, None, "en"),
        ("zh", "en", "zh"),
        ("xx", "zh-TW", "zh"),
        (None, "fr;q=1, zh;q=0.3, en;q=0.2", "zh"),
        (None, "zh;q=0, fr", "en"),
        (None, "en;q=nan, zh;q=0.9", "zh"),
        (None, ",,;;=, zh;q=x", "en"),
        (None, "a," * 5000 + "zh", "en"),
    ],
)
def test_the_language_of_a_request(cookie: str | None, accept: str | None, language: str) -> None:
    assert i18n.choose(cookie, accept) == language
