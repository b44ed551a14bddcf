"""Everybody's points: which submission counts, who may see them, and what a spreadsheet gets."""

import csv
from collections.abc import Callable
from typing import Any

import httpx

from grader.contract import Score, Verdict
from server.courses import service as courses
from server.db.models import User
from server.db.session import Database
from server.gradebook import service

COURSE = "/api/v1/courses/demo"
Headers = Callable[..., dict[str, str]]


def _score(points: float, fraction: float) -> Score:
    return Score(fraction=fraction, low=fraction, high=fraction, points=points, ranked=True)


def test_the_best_submission_counts(
    database: Database, grader: Any, submit: Callable[..., str], client: httpx.Client, token: Headers
) -> None:
    ids = {}
    for key, login, points, fraction in (
        ("first", "ann", 60.0, 0.3),
        ("best", "ann", 80.0, 0.5),
        ("later", "ann", 70.0, 0.4),
        ("bob", "bob", 0.0, 0.1),
        ("staff", "ta", 100.0, 1.0),
    ):
        ids[key] = submit(login)
        grader.grade(score=_score(points, fraction))
    wrong = submit("bob")
    grader.grade(verdict=Verdict.WRONG_ANSWER)
    submit("ann")  # Not graded yet.
    rows = client.get(f"{COURSE}/scores", headers=token("ta")).json()["items"]
    assert [(row["login"], row["team"]) for row in rows] == [("ann", "ann"), ("bob", "bob")]
    assert rows[0]["scores"] == [
        {"assignment": "kernels/double", "points": 80.0, "fraction": 0.5, "submission": ids["best"]}
    ]
    assert rows[1]["scores"][0]["submission"] == ids["bob"] != wrong
    assert client.get(f"{COURSE}/scores", headers=token("ann")).status_code == 403
    assert client.get(f"{COURSE}/scores", headers=token("ta", "read")).status_code == 403


def test_a_spreadsheet_computes_no_name(database: Database, grader: Any, submit: Callable[..., str]) -> None:
    submit("ann")
    grader.grade(score=_score(80.0, 0.5))
    with database.begin() as session:
        session.get_one(User, grader.world.ann.id).name = '=HYPERLINK("http://evil.example")'
        session.get_one(User, grader.world.bob.id).name = "王, 小明"
    with database.read() as session:
        text = service.as_csv(service.gradebook(session, courses.get_course(session, "demo")))
    head, ann, bob = csv.reader(text.splitlines())
    assert head == ["login", "name", "email", "team", "kernels/double points", "kernels/double fraction"]
    assert ann == ["ann", '\'=HYPERLINK("http://evil.example")', "", "ann", "80.0", "0.5"]
    assert bob == ["bob", "王, 小明", "", "bob", "", ""]
