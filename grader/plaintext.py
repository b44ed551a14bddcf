"""Text that others wrote, made safe to show: students, their programs and their archives."""

import re

TEXT_CHARS = 16 << 10
"""Most characters of one text, where nothing else is said."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")


def clean(text: str, limit: int = TEXT_CHARS) -> str:
    """Text that is safe in a log, a terminal and a page: no control characters but tab and newline.

    Terminal escape sequences go as a whole; other unprintable characters and lone surrogates become U+FFFD;
    what is over `limit` characters loses its middle.
    """
    text = _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    text = _UNPRINTABLE.sub("\ufffd", _SURROGATE.sub("\ufffd", text))
    return shorten(text, limit)


def line(text: str, limit: int = 200) -> str:
    """Cleaned text in one line, for names and headings."""
    return clean(text, limit).replace("\n", "\ufffd").replace("\t", " ")


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters: the middle of a longer text gives way to a note."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} characters left out ...]\n"
    if limit <= 2 * len(note):
        return text[:limit]
    head = (limit - len(note)) // 2
    return text[:head] + note + text[len(text) - (limit - len(note) - head) :]
