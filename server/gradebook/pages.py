"""The page of the gradebook, and its download."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from server.access import CurrentUser, Db
from server.courses import service as courses
from server.gradebook import service
from server.schemas import MAX_ID, cut
from server.web.reader import PageReader
from server.web.render import csv_response, page

router = APIRouter(include_in_schema=False)
_PAGE = 50


@router.get("/courses/{slug}/scores")
def scores_page(
    request: Request,
    reader: PageReader,
    session: Db,
    user: CurrentUser,
    slug: str,
    q: Annotated[str, Query(max_length=128)] = "",
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Response:
    """Everybody's points, of those whose login, name or team has `q` in it (staff)."""
    course = courses.staff_course(session, slug, user)
    book = service.gradebook(session, course)
    wanted = q.strip().casefold()
    chosen = [
        row
        for row in book.rows
        if wanted in f"{row.user.login} {row.user.name} {row.team}".casefold()
    ]  # fmt: skip
    rows, following = cut(chosen, after, _PAGE)

    def address(position: int) -> str:
        return "?" + urlencode({"q": q, "after": position} if q else {"after": position})

    return page(
        request,
        reader,
        "scores.html",
        course=course,
        book=book,
        rows=rows,
        query=q,
        first=after + 1,
        last=after + len(rows),
        total=len(chosen),
        previous_address=address(max(0, after - _PAGE)) if after else "",
        next_address=address(following) if following is not None else "",
    )


@router.get("/courses/{slug}/scores.csv")
def scores_csv(session: Db, user: CurrentUser, slug: str) -> Response:
    """The whole gradebook as a spreadsheet reads it (staff)."""
    course = courses.staff_course(session, slug, user)
    return csv_response(service.as_csv(service.gradebook(session, course)), f"{course.slug}-scores.csv")
