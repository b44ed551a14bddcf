"""Pages of whatever a Report may hold, and of assignments in every state: no branch of a template fails."""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import httpx
import pytest
from pydantic import BaseModel

from grader import contract
from grader.contract import Mode, Verdict
from server.courses import service as courses
from server.db.base import utc_now
from server.db.session import Database

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PASSWORD = "correct horse battery"
ADDRESS = "/courses/demo/assignments/kernels/double"
GIVEN = {"version", "submission", "attempt", "token", "mode", "assignment", "bundle", "target", "verdict"}
Browse = Callable[..., httpx.Client]


def made(kind: Any, *, whole: bool, limits: tuple[Any, ...] = ()) -> Any:
    """A value of a type of the contract: with all that it may have (`whole`), or with the least."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return made(inner[0], whole=whole, limits=inner[1:])
    if origin in (Union, UnionType):
        (chosen, *_) = [one for one in inner if (one is NoneType) is not whole]
        return made(chosen, whole=whole, limits=limits)
    if origin is Literal:
        return inner[0]
    if origin is tuple:
        return tuple(made(inner[0], whole=True) for _ in range(2 if whole else 0))
    if origin is dict:
        return {"x": made(inner[1], whole=True)} if whole else {}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {
            name: made(field.annotation, whole=whole, limits=tuple(field.metadata))
            for name, field in kind.model_fields.items()
            if whole or field.is_required()
        }
        return kind.model_construct(**fields)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if kind is bool:
        return whole
    if kind in (int, float):
        least, most = ([getattr(limit, name, None) for limit in limits] for name in ("ge", "le"))
        return kind(min([1, *filter(None, most)]) if whole else max([0, *filter(None, least)]))
    return ("a" * 64 if "a-f" in repr(limits) else "<i>") if kind is str else 1


def parts(kind: type[contract.Report], **options: Any) -> dict[str, Any]:
    """Of a Report, all that does not name its job."""
    found = made(kind, **options)
    return {name: getattr(found, name) for name in found.model_fields_set - GIVEN}


@pytest.fixture
def browse(client: httpx.Client) -> Browse:
    """The site as somebody sees it in a language."""

    def logged_in(login: str, language: str = "en") -> httpx.Client:
        client.cookies.clear()
        client.headers.update({"accept": "text/html", "accept-language": language})
        form = {"login": login, "password": PASSWORD}
        answer = client.post("/login", data=form, headers={"origin": str(client.base_url).rstrip("/")})
        assert answer.status_code == 303, answer.text
        return client

    return logged_in


@pytest.mark.parametrize(
    ("verdict", "whole"),
    [
        (Verdict.ACCEPTED, True),
        (Verdict.WRONG_ANSWER, True),
        (Verdict.ACCEPTED, False),
        (Verdict.ASSIGNMENT_ERROR, False),
    ],
)
def test_any_report_has_a_page(
    browse: Browse, grader: Any, submit: Callable[..., str], verdict: Verdict, whole: bool
) -> None:
    public_id = submit("ann")
    grader.grade(verdict=verdict, **parts(contract.Report, whole=whole))
    second = submit("bob")
    low = contract.Score(fraction=0.005, low=0.004, high=0.006, ranked=True)
    grader.grade(score=low)
    for login, language in (("ann", "en"), ("ta", "zh")):
        client = browse(login, language)
        for address in (
            f"/submissions/{public_id}", f"/courses/demo?of={second}", "/courses/demo/submissions", ADDRESS,
            f"{ADDRESS}/board", "/courses/demo/map", f"/api/v1/submissions/{public_id}/report",
        ):  # fmt: skip
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.text)
            assert "<i>" not in answer.text or address.startswith("/api"), address
    client = browse("ta")
    for address in ("/staff/queue", "/courses/demo/scores", f"/submissions/{second}"):
        assert client.get(address).status_code == 200, address
    page = client.get(f"/submissions/{public_id}").text
    for fact in (
        "limits not in force: &lt;i&gt;, &lt;i&gt;",
        "Traceback",
        "Relative errors",
        "measured ceiling",
    ):
        assert (fact in page) is whole, fact


def test_an_assignment_says_what_it_offers_and_when(
    browse: Browse, database: Database, submit: Callable[..., str], world: Any
) -> None:
    submit("ann", mode=Mode.TEST)
    now = utc_now()

    def change(**values: Any) -> None:
        with database.begin() as session:
            view = courses.get_assignment(session, world.course, "kernels/double", staff=True)
            for name, value in values.items():
                setattr(view.assignment, name, value)

    def seen(login: str, language: str = "en") -> str:
        answer = browse(login, language).get(ADDRESS)
        assert answer.status_code == 200, answer.text
        return answer.text

    page = seen("ann")
    for fact in ("no date", "unlimited", '<option value="h200">', 'id="code"'):
        assert fact in page, fact
    change(device_seconds_per_day=600.0, attempt_limit=3)
    page = seen("ann", "zh")
    assert "10 分" in page
    change(opens=now - timedelta(days=2), closes=now - timedelta(days=1))
    for language, sentence in (("en", "This assignment is closed."), ("zh", "该作业已截止。")):
        page = seen("ann", language)
        assert sentence in page
        assert 'id="code"' not in page
    refused = browse("ann").post(
        f"{ADDRESS}/submissions",
        data={"code": "def solve(): ..."},
        headers={"origin": str(browse("ann").base_url).rstrip("/")},
    )
    assert refused.status_code == 403, refused.text
    assert 'id="code"' in seen("ta"), "dates do not bind staff"
    change(opens=now + timedelta(days=1), closes=None)
    assert browse("ann").get(ADDRESS).status_code == 403
    assert "opens" in browse("ann").get("/courses/demo").text
    assert ADDRESS in browse("ta").get("/courses/demo").text
