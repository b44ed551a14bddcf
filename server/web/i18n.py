"""The site's languages: which one a request gets, its gettext catalogue, its dates and numbers.

English is the language of the source. Other catalogues are `locale/<language>/LC_MESSAGES/messages.po`,
read as they are (no compiled files); a test keeps them complete.
"""

import gettext
from collections.abc import Mapping
from datetime import datetime, tzinfo
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from babel.dates import format_datetime, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from grader.contract import Text
from grader.spec import MilestoneSpec

LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}
"""Language code to its own name."""
DEFAULT = "en"
COOKIE = "solmark_lang"
LOCALE_FOLDER = Path(__file__).parent / "locale"
_BABEL_LOCALES = {"en": "en_GB", "zh": "zh_Hans_CN"}
_TAGS = {"en": "en", "zh": "zh-Hans"}
_TIME_UNITS = {"zh": {"d": "天", "h": "小时", "min": "分", "s": "秒"}}
"""Of a span that somebody waits. Fractions of a second are measured, and have their symbols everywhere."""


def choose(cookie: str | None, accept_language: str | None) -> str:
    """The language of a request: what the reader chose, else what the browser asks for, else English."""
    if cookie is not None and cookie in LANGUAGES:
        return cookie
    ranked: list[tuple[float, int, str]] = []
    for position, item in enumerate((accept_language or "").split(",")[:32]):
        tag, _, parameter = item.strip().partition(";")
        primary = tag.strip().lower().partition("-")[0]
        if primary in LANGUAGES:
            ranked.append((-_quality(parameter), position, primary))
    ranked = [entry for entry in ranked if entry[0] < 0]
    return min(ranked)[2] if ranked else DEFAULT


def html_tag(language: str) -> str:
    """BCP 47 tag for the `lang` attribute."""
    return _TAGS[language]


@lru_cache
def catalogue(language: str) -> gettext.NullTranslations:
    """Translations into a language; English needs none."""
    if language == DEFAULT:
        return gettext.NullTranslations()
    with (LOCALE_FOLDER / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        messages = read_po(file, locale=_BABEL_LOCALES[language])
    binary = BytesIO()
    write_mo(binary, messages)
    binary.seek(0)
    return gettext.GNUTranslations(binary)


def localized(text: Text | None, language: str) -> str:
    """A sentence of the contract in the reader's language; empty for None."""
    if text is None:
        return ""
    return text.zh if language == "zh" else text.en


def milestone_name(milestone: MilestoneSpec, language: str) -> str:
    """What a milestone is called, in English where its author gave no Chinese name."""
    return milestone.name_zh if language == "zh" and milestone.name_zh else milestone.name


def moment(value: datetime, language: str, zone: tzinfo) -> str:
    """Date and time of day in a zone, e.g. `30 Nov 2026, 23:59 CET`."""
    pattern = "y年M月d日 HH:mm" if language == "zh" else "d MMM y, HH:mm"
    local = value.astimezone(zone)
    text = format_datetime(local, pattern, locale=_BABEL_LOCALES[language])
    return f"{text} {local.tzname() or ''}".rstrip()


def distance(value: datetime, now: datetime, language: str) -> str:
    """How far a time lies from now, e.g. `in 3 days`, `2 hours ago`."""
    return format_timedelta(value - now, locale=_BABEL_LOCALES[language], add_direction=True)


def time_unit(symbol: str, language: str) -> str:
    """What stands after the number of such units: `min` in English, `分` in Chinese."""
    return _TIME_UNITS.get(language, {}).get(symbol, symbol)


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
