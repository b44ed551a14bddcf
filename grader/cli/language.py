"""Which of the two languages of the product a person reads in the terminal."""

import errno
import os
from datetime import datetime
from typing import Literal, TypeAlias

from grader.contract import Text

Locale: TypeAlias = Literal["en", "zh"]
_OS_ERRORS = {errno.ENOENT: "文件不存在", errno.EACCES: "没有读取权限", errno.EISDIR: "是一个文件夹"}


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


def os_reason(error: OSError) -> str:
    """Why a file could not be read, without its path."""
    english = error.strerror or type(error).__name__
    return pick(english, _OS_ERRORS.get(error.errno or 0, english))


def local_minute(moment: str) -> str:
    """A moment of the server's JSON on this machine's clock, as `2026-11-30 22:15`."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
