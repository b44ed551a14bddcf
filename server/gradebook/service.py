"""Who has how many points where: the best of each team counts for each of its members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from server import sheet
from server.courses import service as courses
from server.db.models import Course, User
from server.gradebook import queries
from server.gradebook.queries import Best


@dataclass(frozen=True)
class Row:
    """One student, with the best submission of each assignment by its name."""

    user: User
    team: str
    best: Mapping[str, Best]


@dataclass(frozen=True)
class Gradebook:
    """All students of a course by login, and the names of its assignments."""

    assignments: Sequence[str]
    rows: Sequence[Row]


def gradebook(session: Session, course: Course) -> Gradebook:
    """The scores of a course, unpublished assignments included: points once given stay."""
    names = {
        view.assignment.id: view.assignment.name for view in courses.assignments(session, course, staff=True)
    }
    found: dict[int, dict[str, Best]] = {}
    for one in queries.best(session, course):
        found.setdefault(one.team_id, {})[names[one.assignment_id]] = one
    rows = [Row(user, team.name, found.get(team.id, {})) for user, team in queries.students(session, course)]
    return Gradebook(list(names.values()), rows)


def as_csv(book: Gradebook) -> str:
    """One line a student: login, name, e-mail, team, then points and fraction of each assignment."""
    columns = [f"{name} {what}" for name in book.assignments for what in ("points", "fraction")]
    lines: list[Sequence[object]] = [("login", "name", "email", "team", *columns)]
    for row in book.rows:
        found = [row.best.get(name) for name in book.assignments]
        cells = [
            value for best in found for value in ((best.points, best.fraction) if best else (None, None))
        ]
        lines.append((row.user.login, row.user.name, row.user.email, row.team, *cells))
    return sheet.write(lines)
