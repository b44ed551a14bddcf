"""Results that staff look at before they are ranked: what each reader sees, and who stands on a board."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from grader.contract import Evidence, Measure, Score, TimedResult, Verdict
from grader.messages import text
from server.courses import service as courses
from server.db.models import AuditEntry
from server.db.session import Database
from server.errors import Forbidden, WrongState
from server.grading import service as grading
from server.leaderboard import service as boards
from server.submissions import service as submissions

PASSWORD = "correct horse battery"
WAITS = Score(
    fraction=0.98,
    low=0.97,
    high=0.99,
    points=90.0,
    ranked=False,
    unranked_reason=text("staff_look"),
    review=True,
)
EVIDENCE = Evidence(kind="above_measured_ceiling", case="large", measured=1.9e-5, limit=2e-5, unit="s")
TIMED = TimedResult(
    case="large", part="kernel", verdict=Verdict.ACCEPTED, fraction=0.98, calls=7, rounds=(2e-5,) * 11,
    disturbed_rounds=3, bias_bound_seconds=1.5e-6,
    measure=Measure(quantity="time", unit="s", better="lower", value=2e-5, low=1.9e-5, high=2.1e-5),
)  # fmt: skip
Submit = Callable[..., str]
Browse = Callable[[str], httpx.Client]


@pytest.fixture
def waiting(grader: Any, submit: Submit) -> str:
    """A submission of Ann's that the judge sent to staff."""
    public_id = submit("ann")
    grader.grade(score=WAITS, evidence=(EVIDENCE,), timed=(TIMED,))
    return public_id


@pytest.fixture
def browse(client: httpx.Client) -> Iterator[Browse]:
    """A browser of the person with that login, on the same site."""
    with ExitStack() as browsers:

        def logged_in(login: str) -> httpx.Client:
            browser = browsers.enter_context(
                httpx.Client(base_url=client.base_url, timeout=30, headers={"Accept-Language": "en"})
            )
            token = _form_token(_page(browser, "/login"))
            form = {"login": login, "password": PASSWORD, "form_token": token}
            assert browser.post("/login", data=form).status_code == 303
            return browser

        yield logged_in


def _board(database: Database) -> list[str]:
    with database.read() as session:
        course = courses.get_course(session, "demo")
        return [entry.submission for entry in boards.board(session, course, "kernels/double").entries]


def _decide(database: Database, public_id: str, by: Any, *, rank: bool, note: str = "") -> None:
    with database.begin() as session:
        found = submissions.get(session, public_id, by)
        submissions.review(session, found, rank=rank, note=note, by=by)


def test_it_waits_and_staff_decide_and_decide_again(database: Database, waiting: str, world: Any) -> None:
    assert _board(database) == []
    with database.read() as session:
        course = courses.get_course(session, "demo")
        assert [found.public_id for found in grading.waiting_reviews(session, [course])] == [waiting]
    _decide(database, waiting, world.ta, rank=True, note="reads half as much: fine")
    assert _board(database) == [waiting]
    with database.read() as session:
        course = courses.get_course(session, "demo")
        assert grading.waiting_reviews(session, [course]) == []
    _decide(database, waiting, world.admin, rank=False, note="looks at the clock")
    assert _board(database) == []
    with database.read() as session:
        entries = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "submission.review").order_by(AuditEntry.id)
        ).all()
        said = [(entry.actor and entry.actor.login, entry.subject, entry.details) for entry in entries]
    assert said == [
        ("ta", waiting, {"ranked": True, "note": "reads half as much: fine"}),
        ("admin", waiting, {"ranked": False, "note": "looks at the clock"}),
    ]


def test_nobody_else_decides_and_nothing_else_is_decided(
    database: Database, grader: Any, submit: Submit, waiting: str, world: Any
) -> None:
    with pytest.raises(Forbidden):
        _decide(database, waiting, world.ann, rank=True)
    usual = submit("ann")
    grader.grade()
    with pytest.raises(WrongState):
        _decide(database, usual, world.ta, rank=False)
    assert _board(database) == [usual]


def test_a_new_grading_is_a_new_question(database: Database, grader: Any, waiting: str, world: Any) -> None:
    _decide(database, waiting, world.ta, rank=True)

    def again() -> None:
        with database.begin() as session:
            found = submissions.get(session, waiting, world.ta)
            submissions.rerun(session, grader.settings, found, by=world.ta, now=grader.now)

    again()
    grader.grade(score=WAITS, evidence=(EVIDENCE,))
    assert _board(database) == []
    again()
    grader.grade(score=WAITS.model_copy(update={"ranked": True, "review": False, "unranked_reason": None}))
    assert _board(database) == [waiting]
    again()
    grader.grade(verdict=Verdict.WRONG_ANSWER)
    with database.read() as session:
        assert grading.waiting_reviews(session, [courses.get_course(session, "demo")]) == []


def test_over_the_api(client: httpx.Client, waiting: str, token: Callable[..., dict[str, str]]) -> None:
    staff, student = token("ta"), token("ann")
    address = f"/api/v1/submissions/{waiting}"
    score = client.get(f"{address}/report", headers=student).json()["score"]
    assert (score["ranked"], score["review"], score["unranked_reason"]["code"]) == (False, True, "staff_look")
    assert client.get(f"{address}/review", headers=student).status_code == 403
    assert client.post(f"{address}/review", headers=student, json={"rank": True}).status_code == 403
    assert client.get("/api/v1/courses/demo/reviews", headers=student).status_code == 403
    (item,) = client.get("/api/v1/courses/demo/reviews", headers=staff).json()["items"]
    assert item["id"] == waiting
    found = client.get(f"{address}/review", headers=staff).json()
    assert (found["state"], found["ranked"]) == ("waiting", False)
    assert found["evidence"] == [EVIDENCE.model_dump(mode="json")]
    answer = client.post(f"{address}/review", headers=staff, json={"rank": False, "note": "why so fast?"})
    assert (answer.json()["state"], answer.json()["note"]) == ("unranked", "why so fast?")
    score = client.get(f"{address}/report", headers=student).json()["score"]
    assert (score["ranked"], score["review"], score["unranked_reason"]["code"]) == (
        False, False, "left_unranked",
    )  # fmt: skip
    client.post(f"{address}/review", headers=staff, json={"rank": True})
    score = client.get(f"{address}/report", headers=student).json()["score"]
    assert (score["ranked"], score["unranked_reason"]) == (True, None)
    assert client.get("/api/v1/courses/demo/reviews", headers=staff).json()["items"] == []


def test_on_the_pages(browse: Browse, waiting: str) -> None:
    address = f"/submissions/{waiting}"
    student = browse("ann")
    page = _page(student, address)
    assert "The staff look at this result before it is ranked" in page
    assert "constant: ± 1.50 µs at most" in page
    assert "3 more did not count" in page
    assert "above_measured_ceiling" not in page
    assert "Rank it" not in page
    staff = browse("ta")
    assert waiting[:8] in _page(staff, "/staff/queue")
    page = _page(staff, address)
    for fact in (
        "Waits for you before it is ranked",
        "above_measured_ceiling",
        "Rank it",
        "Leave it unranked",
    ):
        assert fact in page, fact
    form = {"note": "<b>odd</b>", "rank": "false", "form_token": _form_token(page)}
    answer = staff.post(f"{address}/review", data=form)
    assert answer.status_code == 303, answer.text
    page = _page(staff, answer.headers["location"])
    for fact in ("Your decision is noted.", "Looked at, and left unranked", "&lt;b&gt;odd&lt;/b&gt;"):
        assert fact in page, fact
    page = _page(student, address)
    assert "left it unranked" in page
    assert "odd" not in page
    assert "Results to look at" not in _page(staff, "/staff/queue")
    form = {"note": "", "rank": "true", "form_token": _form_token(_page(student, "/courses"))}
    assert student.post(f"{address}/review", data=form).status_code == 403


def _page(browser: httpx.Client, address: str) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200, answer.text
    return answer.text


def _form_token(page: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', page)
    return found[1] if found else ""
