"""The API of the gradebook."""

from fastapi import APIRouter

from server.access import Db, Paging, StaffUser
from server.courses import service as courses
from server.gradebook import service
from server.gradebook.schemas import ScoresOut
from server.schemas import Items, cut

router = APIRouter(prefix="/api/v1", tags=["gradebook"])


@router.get("/courses/{slug}/scores")
def scores(slug: str, session: Db, user: StaffUser, page: Paging) -> Items[ScoresOut]:
    """Every student's best of every assignment, by login (staff)."""
    course = courses.staff_course(session, slug, user)
    rows, after = cut(service.gradebook(session, course).rows, page.after, page.limit)
    return Items(items=[ScoresOut.of(row) for row in rows], next=after)
