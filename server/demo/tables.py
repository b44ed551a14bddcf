"""What the demo shows in the terminal."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from grader.contract import Verdict
from server.demo.course import ADMIN, ASSISTANT
from server.demo.entrants import Entry
from server.demo.student import Submitted

WIDE = 110
"""Columns of a terminal from which the table has all that is known."""
NO_COMPILER = "not graded: no g++"
"""What the table says of C++ on a machine that cannot compile it."""


def progress(submitted: Sequence[Submitted], left_out: Sequence[Entry] = (), width: int = WIDE) -> Table:
    """All submissions with what is known of them, below their assignments; then what was not submitted.

    So many columns wide: a narrow table says what was expected only where it is not what came out, and not
    who has submitted it.
    """
    done = sum(one.final for one in submitted)
    table = Table(title=f"{done} of {len(submitted)} submissions graded", title_justify="left")
    if width < WIDE:
        table.box, table.pad_edge = SIMPLE, False
    table.add_column("file", overflow="fold")
    if width >= WIDE:
        table.add_column("student")
    table.add_column("verdict", max_width=None if width >= WIDE else 18)
    if width >= WIDE:
        table.add_column("expected")
    table.add_column("of light", justify="right")
    table.add_column("s", justify="right")
    cells = [row(one) for one in submitted]
    cells += [
        (
            entry.assignment,
            escape(file_name(entry)),
            entry.student,
            f"[yellow]{NO_COMPILER}[/]",
            entry.expected.value,
            "",
            "",
        )
        for entry in left_out
    ]
    surprises = [one.final and not one.as_expected for one in submitted] + [False] * len(left_out)
    heading = ""
    rows = sorted(zip(surprises, cells, strict=True), key=lambda found: found[1][0])
    for surprise, line in rows:
        assignment, file, student, verdict, expected, fraction, seconds = line
        if assignment != heading:
            heading = assignment
            table.add_section()
            table.add_row(f"[bold]{assignment}[/]")
        if width >= WIDE:
            table.add_row(file, student, verdict, expected, fraction, seconds)
        else:
            other = f", expected {expected}" if surprise else ""
            table.add_row(file, verdict + other, fraction, seconds)
    return table


def lines(submitted: Sequence[Submitted]) -> int:
    """About how many lines `progress` takes."""
    return len(submitted) + 2 * len({one.entry.assignment for one in submitted}) + 5


def file_name(entry: Entry) -> str:
    """Its file's name below the assignment's folder of `reference/`."""
    path = entry.path
    return f"wrong/{path.name}" if path.parent.name == "wrong" else path.name


def row(one: Submitted) -> tuple[str, ...]:
    """The cells of one submission."""
    name = file_name(one.entry)
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


def news(submitted: Sequence[Submitted], told: MutableMapping[str, str]) -> Iterator[str]:
    """A line for each submission whose grading began or ended since the last call, by what `told` holds."""
    done = len([state for state in told.values() if state == "final"])
    for one in submitted:
        state = "final" if one.final else str(one.found["state"])
        identity = one.found["id"]
        if told.get(identity) == state or state not in {"running", "final"}:
            continue
        told[identity] = state
        if state == "final":
            done += 1
            yield f"{done} of {len(submitted)}  {_told(one)}"
        else:
            yield f"grading  {one.entry.assignment}  {escape(file_name(one.entry))}  {one.entry.student}"


def _told(one: Submitted) -> str:
    """What came of a submission, with the names that the table's heading gives its cells."""
    assignment, file, student, verdict, expected, fraction, seconds = row(one)
    found = f"{verdict}, expected {expected}"
    light = f"{fraction} of the speed of light" if fraction else ""
    return "  ".join(filter(None, (assignment, file, student, found, light, f"{seconds} s")))


def board(found: Mapping[str, Any], hardware: str, submitted: Sequence[Submitted]) -> Table | str:
    """A board of a machine with that name; where nobody stands on it, why."""
    heading = f"{found['assignment']} on {escape(hardware)}"
    entries = found["entries"]
    if not entries:
        return (
            f"[italic]{heading}[/]\nNobody stands on this board.{_why_empty(found['assignment'], submitted)}"
        )
    table = Table(title=heading, title_justify="left")
    for column in ("rank", "name", "of the speed of light", "interval", "language"):
        table.add_column(column)
    for entry in entries:
        table.add_row(
            str(entry["rank"]), escape(entry["name"]), f"{entry['fraction']:.1%}",
            f"{entry['low']:.1%} – {entry['high']:.1%}", entry["language"],
        )  # fmt: skip
    return table


def unsettled(submitted: Sequence[Submitted]) -> int:
    """How many right solutions have no time because the machine was busy."""
    return sum(
        one.found["verdict"] == Verdict.UNSTABLE_TIMING and one.entry.expected is Verdict.ACCEPTED
        for one in submitted
    )


def summary(submitted: Sequence[Submitted], left_out: Sequence[Entry] = ()) -> str:
    """How many verdicts are as expected, how many of those had to be forgiven, and what was not graded."""
    right = sum(one.as_expected for one in submitted)
    forgiven = unsettled([one for one in submitted if one.as_expected])
    text = f"{'All' if right == len(submitted) else f'{right} of'} {len(submitted)} verdicts are as expected"
    rest = f" {len(left_out)} in C++ are {NO_COMPILER}." if left_out else ""
    if not forgiven:
        return f"{text}, none with an unstable timing forgiven.{rest}"
    why = "unstable_timing where accepted is named, with every test passed"
    return f"{text}, {forgiven} of them forgiven: {why}.{rest}"


def _why_empty(assignment: str, submitted: Sequence[Submitted]) -> str:
    of_it = [one for one in submitted if one.entry.assignment == assignment]
    if count := unsettled(of_it):
        return f" This machine was too busy for steady times of right solutions ({count} unstable_timing)."
    if any(one.found["verdict"] == Verdict.ACCEPTED for one in of_it):
        return " Times taken here are not ranked: `solmark doctor` says why."
    return ""


def logins(passwords: Mapping[str, str], students: Sequence[str]) -> Table:
    """Staff, and some students."""
    table = Table(title="Logins", title_justify="left")
    for column in ("role", "login", "password"):
        table.add_column(column)
    roles = {ADMIN: "admin", ASSISTANT: "assistant", **dict.fromkeys(students[:3], "student")}
    for login, role in roles.items():
        table.add_row(role, login, escape(passwords[login]))
    return table
