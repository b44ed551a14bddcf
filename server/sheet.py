"""Tables as CSV that spreadsheets read: names that they would take for formulas are marked as text."""

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a formula begins."""


def write(lines: Iterable[Sequence[object]]) -> str:
    """The lines as CSV; None is an empty cell, numbers keep all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([_cell(value) for value in line] for line in lines)
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
