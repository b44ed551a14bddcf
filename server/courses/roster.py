"""Rosters: who is in a course, as a CSV file that any registrar's export becomes with few clicks."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.db.models.course import Role
from server.errors import Invalid

COLUMNS = ("login", "name", "email", "role")
_SHOWN = 20
"""Faults named at once."""


@dataclass(frozen=True)
class Entry:
    """One person of a roster."""

    login: str
    name: str
    email: str | None
    role: Role


def read(text: str, role: Role) -> Sequence[Entry]:
    """The people of a roster, whose first line names its columns: `login`, and `name`, `email`, `role`.

    Who has no name is called by the login, who has no role gets `role`. Raises `Invalid`, naming the faulty
    lines.
    """
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), skipinitialspace=True)
    names = [(name or "").strip().lower() for name in rows.fieldnames or ()]
    if "login" not in names:
        raise Invalid(
            field="roster",
            why="the first line must name the columns, `login` among them; "
            f"it is: {', '.join(names) or 'empty'}",
            why_zh="首行须为列名，其中须有 login",
        )
    rows.fieldnames = names
    entries: dict[str, Entry] = {}
    faults: list[str] = []
    for row in _filled(rows):
        cells = {key: (value or "").strip() for key, value in row.items() if key in COLUMNS}
        login = cells["login"].lower()
        if not login:
            faults.append(f"line {rows.line_num}: no login")
        elif login in entries:
            faults.append(f"line {rows.line_num}: {login} again")
        elif cells.get("role", "") not in {"", *Role}:
            faults.append(f"line {rows.line_num}: role {cells['role']!r}, not one of {', '.join(Role)}")
        else:
            chosen = Role(cells["role"]) if cells.get("role") else role
            entries[login] = Entry(login, cells.get("name") or login, cells.get("email") or None, chosen)
    if faults:
        shown = "; ".join(faults[:_SHOWN]) + (" ..." if len(faults) > _SHOWN else "")
        raise Invalid(field="roster", why=shown, why_zh=shown)
    if not entries:
        raise Invalid(field="roster", why="it names nobody", why_zh="其中没有任何人")
    return list(entries.values())


def _filled(rows: "csv.DictReader[str]") -> Iterator[dict[str, str]]:
    """The lines that hold anything."""
    for row in rows:
        if any(isinstance(value, str) and value.strip() for value in row.values()):
            yield row
