"""A hundred uploads of one student at the same moment: numbers without gaps, not one more than allowed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from server.db.models import Assignment, Submission
from server.db.session import Database
from server.settings import Settings

UPLOADS = 100
ALLOWED = 37
ADDRESS = "/api/v1/courses/demo/assignments/kernels/double/submissions"


@pytest.mark.parametrize("ending", ["limit", "no_limit"])
def test_a_hundred_uploads_at_once(
    client: httpx.Client, database: Database, settings: Settings, token: Any, ending: str
) -> None:
    settings.queued_per_team = UPLOADS
    allowed = ALLOWED if ending == "limit" else UPLOADS
    with database.begin() as session:
        row = session.scalars(select(Assignment)).one()
        row.attempt_limit = ALLOWED if ending == "limit" else None
    headers = token("ann")
    barrier = Barrier(UPLOADS)

    def upload(number: int) -> httpx.Response:
        document = {"files": {"solution.py": f"def solve(x, y):\n    return {number}\n"}, "mode": "grade"}
        barrier.wait()
        return client.post(ADDRESS, json=document, headers=headers, timeout=90.0)

    with ThreadPoolExecutor(UPLOADS) as pool:
        answers = list(pool.map(upload, range(UPLOADS)))
    taken = [answer.json() for answer in answers if answer.status_code == 201]
    refused = [answer.json()["error"]["code"] for answer in answers if answer.status_code != 201]
    assert len(taken) == allowed
    assert refused == ["no_attempts_left"] * (UPLOADS - allowed)
    assert sorted(one["number"] for one in taken) == list(range(1, allowed + 1))
    with database.read() as session:
        rows = session.scalars(select(Submission)).all()
        assert {row.public_id for row in rows} == {one["id"] for one in taken}
        assert {row.public_id: row.number for row in rows} == {one["id"]: one["number"] for one in taken}
    quota = client.get(ADDRESS.replace("submissions", "quota"), headers=headers).json()
    assert quota["attempts_used"] == allowed
