"""Which of the two languages of the product a person reads in the terminal."""

import os
from typing import Literal, TypeAlias

from grader.contract import Text

Locale: TypeAlias = Literal["en", "zh"]


def current() -> Locale:
    """`SOLMARK_LANG` decides, else the locale variables in the order that POSIX gives them."""
    for name in ("SOLMARK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def say(text: Text, locale: Locale | None = None) -> str:
    """The text in the reader's language."""
    return text.zh if (locale or current()) == "zh" else text.en


def pick(en: str, zh: str, locale: Locale | None = None) -> str:
    """One of two strings, by the reader's language."""
    return zh if (locale or current()) == "zh" else en
