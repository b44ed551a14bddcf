"""What the demo shows in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from server.demo.course import ADMIN, ASSISTANT
from server.demo.student import Submitted


def progress(submitted: Sequence[Submitted]) -> Table:
    """All submissions with what is known of them, in the order of submission."""
    done = sum(one.final for one in submitted)
    table = Table(title=f"{done} of {len(submitted)} submissions graded", title_justify="left")
    for column in (
        "assignment",
        "file",
        "student",
        "verdict",
        "expected",
        "of the speed of light",
        "seconds",
    ):
        table.add_column(
            column, justify="right" if column in {"of the speed of light", "seconds"} else "left"
        )
    for one in submitted:
        table.add_row(*row(one))
    return table


def row(one: Submitted) -> tuple[str, ...]:
    """The cells of one submission."""
    path = one.entry.path
    name = f"wrong/{path.name}" if path.parent.name == "wrong" else path.name
    verdict = one.found["verdict"] or one.found["state"]
    if one.final:
        style = "green" if one.as_expected else "bold red"
        verdict = f"[{style}]{escape(verdict)}[/]"
    fraction = one.found["fraction"]
    return (
        one.entry.assignment,
        escape(name),
        one.entry.student,
        verdict,
        one.entry.expected.value,
        "" if fraction is None else f"{fraction:.1%}",
        f"{one.seconds:.0f}" if one.final else "",
    )


def board(found: Mapping[str, Any]) -> Table:
    """A board."""
    entries = found["entries"]
    name = entries[0]["hardware_name"] if entries else found["hardware"]
    table = Table(title=f"{found['assignment']} on {escape(name)}", title_justify="left")
    for column in ("rank", "name", "of the speed of light", "interval", "language"):
        table.add_column(column)
    for entry in entries:
        table.add_row(
            str(entry["rank"]), escape(entry["name"]), f"{entry['fraction']:.1%}",
            f"{entry['low']:.1%} – {entry['high']:.1%}", entry["language"],
        )  # fmt: skip
    return table


def logins(passwords: Mapping[str, str], students: Sequence[str]) -> Table:
    """Staff, and some students."""
    table = Table(title="Logins", title_justify="left")
    for column in ("role", "login", "password"):
        table.add_column(column)
    roles = {ADMIN: "admin", ASSISTANT: "assistant", **dict.fromkeys(students[:3], "student")}
    for login, role in roles.items():
        table.add_row(role, login, escape(passwords[login]))
    return table
