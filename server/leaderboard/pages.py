"""The page of a board."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from server.access import Db, MaybeUser
from server.courses import service as courses
from server.db.models import Course, User
from server.leaderboard import service
from server.leaderboard.service import Board, Entry
from server.schemas import MAX_ID, cut
from server.web import charts
from server.web.reader import PageReader
from server.web.render import csv_response, page, percent, zone_of

router = APIRouter(include_in_schema=False)


_PAGE = 100


@dataclass(frozen=True)
class Row:
    """An entry as the page shows it."""

    entry: Entry
    shared: bool
    """Others have the same rank."""
    mine: bool
    link: bool
    """The reader may open the submission."""
    chart: Markup


@router.get("/courses/{slug}/assignments/{track}/{name}/board")
def board_page(
    request: Request,
    reader: PageReader,
    session: Db,
    user: MaybeUser,
    slug: str,
    track: str,
    name: str,
    version: str | None = None,
    hardware: str | None = None,
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Response:
    """The best of each team; public where the course says so."""
    course = service.visible_course(session, slug, user)
    board = service.board(session, course, f"{track}/{name}", digest=version, hardware=hardware)
    role = courses.role_of(session, course, user) if user else None
    rows = _rows(board, _team_name(session, course, user), staff=role is not None and role.is_staff)
    shown, following = cut(rows, after, _PAGE)

    def address(position: int) -> str:
        query = {"version": version, "hardware": hardware, "after": str(position) if position else None}
        return "?" + urlencode({key: value for key, value in query.items() if value})

    return page(
        request,
        reader,
        "board.html",
        course=course,
        member=role is not None,
        version=board.version,
        address=f"/courses/{course.slug}/assignments/{board.assignment.name}",
        board=board,
        rows=shown,
        machine=_one_machine(board),
        own=next((row for row in rows if row.mine and row not in shown), None),
        first=after + 1,
        last=after + len(shown),
        total=len(rows),
        previous_address=address(max(0, after - _PAGE)) if after else "",
        next_address=address(following) if following is not None else "",
        csv_address=f"{request.url.path}.csv{address(0).removesuffix('?')}",
        zone=zone_of(course),
    )


@router.get("/courses/{slug}/assignments/{track}/{name}/board.csv")
def board_csv(
    session: Db,
    user: MaybeUser,
    slug: str,
    track: str,
    name: str,
    version: str | None = None,
    hardware: str | None = None,
) -> Response:
    """The whole board as a spreadsheet reads it; open to whoever may see the board."""
    course = service.visible_course(session, slug, user)
    board = service.board(session, course, f"{track}/{name}", digest=version, hardware=hardware)
    return csv_response(service.as_csv(board), f"{name}-{board.hardware}-board.csv")


def _one_machine(board: Board) -> str:
    """The name of the hardware if all entries have the same, which then need not say it each."""
    names = {entry.hardware_name for entry in board.entries}
    return names.pop() if len(names) == 1 else ""


def _team_name(session: Db, course: Course, user: User | None) -> str | None:
    team = courses.team_of(session, course, user) if user else None
    return team.name if team else None


def _rows(board: Board, mine: str | None, *, staff: bool) -> list[Row]:
    ranks = Counter(entry.rank for entry in board.entries)
    lowest = min((entry.low for entry in board.entries), default=charts.FLOOR)
    highest = max((entry.high for entry in board.entries), default=1.0)
    return [
        Row(
            entry,
            shared=ranks[entry.rank] > 1,
            mine=entry.team == mine,
            link=staff or entry.team == mine,
            chart=charts.whisker(
                charts.Interval(entry.low, entry.fraction, entry.high),
                lowest,
                highest,
                f"{percent(entry.low)} – {percent(entry.high)}",
            ),
        )
        for entry in board.entries
    ]
