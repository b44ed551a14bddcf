"""What the command line reads of the server's answers: anything else in them is passed on as it came."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Moment = Annotated[str, AfterValidator(_moment)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Answer(BaseModel):
    """Base of them all. A value of another type is no answer of a Solmark server."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Me(Answer):
    """Who is logged in."""

    login: str


class NewToken(Answer):
    """A token, told once."""

    token: str


class Page(Answer):
    """What all pages of a list have: where the next begins."""

    next: int | None = None


class Course(Answer):
    """One course."""

    slug: str


class Courses(Page):
    """The courses of the user."""

    items: list[Course]


class Sentence(Answer):
    """Text in both languages."""

    en: str
    zh: str


class Place(Answer):
    """Place in the queue."""

    ahead: int
    expected_seconds: Number | None
    reason: str | None = None


class Submission(Answer):
    """One submission."""

    id: str
    assignment: str
    number: int
    state: str
    verdict: str | None
    message: Sentence | None
    fraction: Number | None
    points: Number | None
    created: Moment
    hardware: str = ""
    final: bool = False
    queue: Place | None = None


class Submissions(Page):
    """A list of submissions."""

    items: list[Submission]


class Entry(Answer):
    """One line of a board."""

    rank: int
    name: str
    fraction: Number
    low: Number
    high: Number
    submitted: Moment
    hardware: str
    hardware_name: str | None = None


class Board(Page):
    """A board."""

    hardware: str
    entries: list[Entry]


class State(Answer):
    """An event of the stream: the submission has another state."""

    state: str = ""


class Progress(Answer):
    """An event of the stream: grading goes on."""

    phase: str
    case: str | None = None
    done: int | None = None
    total: int | None = None
    text: str | None = None


EVENTS: Mapping[str, type[Answer]] = {"state": State, "progress": Progress, "final": State}
"""By the event's name."""
