"""The API of boards."""

from typing import Annotated

from fastapi import APIRouter, Query

from server.access import Db, MaybeUser, Paging
from server.leaderboard import service
from server.leaderboard.schemas import BoardOut

router = APIRouter(prefix="/api/v1", tags=["boards"])


@router.get("/courses/{slug}/assignments/{track}/{assignment}/board")
def board(
    slug: str,
    track: str,
    assignment: str,
    session: Db,
    user: MaybeUser,
    page: Paging,
    version: Annotated[str | None, Query(pattern=r"^[0-9a-f]{64}$")] = None,
    hardware: Annotated[str | None, Query(max_length=32)] = None,
) -> BoardOut:
    """A board, ranked by the pessimistic end of each interval; open to everybody where the course says so."""
    course = service.visible_course(session, slug, user)
    found = service.board(session, course, f"{track}/{assignment}", digest=version, hardware=hardware)
    return BoardOut.of(found, course.slug, after=page.after, limit=page.limit)
