"""The map of a course as its page shows it: weeks and topics, what is built, and how far a team is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import structlog

from grader import course as maps
from grader.assignment import AssignmentError
from grader.course import Cell, Course, Row, Week
from server.db.models import Submission

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ShownWeek:
    """One week and its topics."""

    week: Week
    rows: Sequence[Row]
    address: str
    """What an assignment's page begins with."""

    def link(self, cell: Cell) -> str | None:
        """Address of an assignment, None if it is not built."""
        return self.address + quote(cell.assignment) if cell.built else None


@dataclass(frozen=True)
class Totals:
    """Topics of the course, those with an assignment, those with a graded submission of the team."""

    topics: int
    built: int
    begun: int


def syllabus() -> Course | None:
    """The map, None if this server has none that can be read: a page of a course then goes without one.

    What is wrong with a faulty one is logged, once for each state of its file.
    """
    file = maps.find()
    return None if file is None else _load(file, file.stat().st_mtime_ns)


def weeks(course: Course, best: Mapping[str, Submission | None], address: str) -> list[ShownWeek]:
    """The map with a team's best submission of each published assignment, by the assignment's name."""
    rows = maps.rows(course, best.keys(), best.get)
    return [
        ShownWeek(week, [row for row in rows if row.week.number == week.number], address)
        for week in course.weeks
    ]


def totals(shown: Sequence[ShownWeek]) -> Totals:
    """Counts over all weeks."""
    rows = [row for week in shown for row in week.rows]
    begun = sum(any(cell.progress is not None for cell in row.cells) for row in rows)
    return Totals(len(rows), sum(row.built for row in rows), begun)


@lru_cache(maxsize=4)
def _load(file: Path, _changed: int) -> Course | None:
    try:
        return maps.load(file)
    except AssignmentError as error:
        _log.error("course_map_faulty", file=str(file), faults=[str(fault) for fault in error.faults])
        return None
