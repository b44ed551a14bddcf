"""Every list of the API comes in pages that, put together, are the whole."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from grader.bundle import Bundle
from grader.contract import Score
from server.courses import service as courses
from server.db.models import User
from server.db.session import Database

COURSE = "/api/v1/courses/demo"
ASSIGNMENT = f"{COURSE}/assignments/kernels/double"


def _walk(client: httpx.Client, headers: dict[str, str], path: str, key: str) -> list[dict[str, Any]]:
    """The whole list, asked for one by one."""
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        answer = client.get(f"{path}{'&' if '?' in path else '?'}limit=1&after={after}", headers=headers)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page[key]) <= 1
        found += page[key]
        after = page["next"]
    return found


def _assignment(session: Any) -> Any:
    """The assignment of the course."""
    course = courses.get_course(session, "demo")
    return courses.get_assignment(session, course, "kernels/double", staff=True).assignment


@pytest.fixture
def staff(
    client: httpx.Client, token: Callable[..., dict[str, str]], database: Database, grader: Any, submit: Any,
    changed_bundle: Bundle, app: FastAPI,
) -> dict[str, Any]:  # fmt: skip
    """An admin's headers, and the id of a submission graded twice; at least two of everything."""
    headers = token("admin")
    token("admin")
    for login, low in (("ann", 0.5), ("bob", 0.3)):
        last = submit(login)
        grader.grade(score=Score(fraction=low, low=low, high=low, points=1.0, ranked=True))
    answer = client.post(f"/api/v1/submissions/{last}/rerun", headers=headers)
    assert answer.status_code == 200, answer.text
    grader.wait(60)
    grader.beat(worker="w2")
    (spec,) = grader.dispatch()
    grader.claim(spec, worker="w2")
    assert grader.send(grader.report(spec)).outcome == "stored"
    with database.begin() as session:
        admin = session.get_one(User, grader.world.admin.id)
        courses.create_course(session, slug="other", title_en="Other", title_zh="其他", by=admin)
        courses.publish_bundle(
            session, app.state.blobs, courses.get_course(session, "demo"), changed_bundle.archive,
            changed_bundle.manifest.model_dump_json(), by=admin,
        )  # fmt: skip
        first = courses.get_version(session, _assignment(session), grader.world.digest)
        courses.put_back(session, first, by=admin)
    return {"headers": headers, "submission": last}


@pytest.mark.parametrize(
    ("path", "key", "least"),
    [
        ("/api/v1/tokens", "id", 2),
        ("/api/v1/courses", "slug", 2),
        ("/api/v1/workers", "name", 2),
        (f"{COURSE}/members", "login", 4),
        (f"{COURSE}/audit", "id", 5),
        (f"{COURSE}/assignments", "id", 1),
        (f"{COURSE}/submissions?everyone=true", "id", 2),
        (f"{ASSIGNMENT}/versions", "digest", 2),
        (f"{ASSIGNMENT}/board", "name", 2),
        ("/api/v1/submissions/{submission}/attempts", "number", 2),
    ],
)
def test_pages_put_together_are_the_whole(
    client: httpx.Client, staff: dict[str, Any], path: str, key: str, least: int
) -> None:
    address = path.format(submission=staff["submission"])
    entries = "entries" if path.endswith("board") else "items"
    whole = client.get(address, headers=staff["headers"]).json()
    assert whole["next"] is None
    assert len(whole[entries]) >= least
    names = [entry[key] for entry in _walk(client, staff["headers"], address, entries)]
    assert names == [entry[key] for entry in whole[entries]]
    assert len(set(names)) == len(names)


def test_no_list_is_without_pages(app: FastAPI) -> None:
    document = app.openapi()
    schemas = document["components"]["schemas"]
    lists = []
    for path, methods in document["paths"].items():
        content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
        properties = schemas.get(reference.rpartition("/")[2], {}).get("properties", {})
        if {"items", "entries"} & properties.keys():
            lists.append(path)
            asked = {parameter["name"] for parameter in methods["get"]["parameters"]}
            assert {"limit", "after"} <= asked, path
            assert "next" in properties, path
    assert len(lists) >= 9
