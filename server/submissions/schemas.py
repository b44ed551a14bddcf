"""What the API says of submissions."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from grader.contract import Language, Mode
from server.db.models import Submission
from server.db.models.report import Review
from server.grading.service import Place
from server.schemas import Body, OfferedMode

NOTE_CHARS = 2000
"""Of a note to a decision."""
_LANGUAGES = {
    "anyOf": [{"type": "string", "enum": [language.value for language in Language]}, {"type": "null"}]
}
"""Spelt out: in the API's description this schema stands alone, with nothing that it could refer to."""


class SubmissionBody(Body):
    """A submission as JSON: file names to their text."""

    contents = frozenset({"files"})

    files: dict[str, str] = Field(min_length=1)
    mode: OfferedMode = Mode.GRADE
    language: Annotated[Language | None, WithJsonSchema(_LANGUAGES)] = None
    hardware: str | None = Field(default=None, max_length=32)


class FileOut(BaseModel):
    """One file."""

    name: str
    sha256: str
    size: int


class PlaceOut(BaseModel):
    """Place in the queue. Seconds are null for a reason: no machine of that kind is alive (`no_worker`), or
    grading of the assignment has stopped after repeated failures (`quarantined`)."""

    ahead: int
    expected_seconds: float | None
    reason: Literal["no_worker", "quarantined"] | None


class SubmissionOut(BaseModel):
    """A submission. The state in the database is the truth, whatever events said."""

    id: str
    number: int
    course: str
    assignment: str
    version: str
    team: str
    author: str
    mode: Mode
    reason: str
    language: str
    entry: str
    hardware: str
    devices: int
    files: list[FileOut]
    state: str
    """`queued`, `dispatched`, `running`, or finally `done`, `cancelled`, `grader_error`."""
    final: bool
    created: datetime
    finished: datetime | None
    verdict: str | None
    failure_class: str | None
    message: dict[str, Any] | None
    fraction: float | None
    points: float | None
    queue: PlaceOut | None = None

    @classmethod
    def of(cls, found: Submission, place: Place | None = None) -> "SubmissionOut":
        """From the row with what belongs to it."""
        return cls(
            id=found.public_id,
            number=found.number,
            course=found.course.slug,
            assignment=found.assignment.name,
            version=found.version.digest,
            team=found.team.name,
            author=found.user.login,
            mode=found.mode,
            reason=found.reason.value,
            language=found.language,
            entry=found.entry,
            hardware=found.hardware,
            devices=found.devices,
            files=[FileOut(name=file.name, sha256=file.sha256, size=file.size) for file in found.files],
            state=found.state.value,
            final=found.state.is_final,
            created=found.created,
            finished=found.finished,
            verdict=found.verdict.value if found.verdict else None,
            failure_class=found.failure_class.value if found.failure_class else None,
            message=found.message,
            fraction=found.fraction,
            points=found.points,
            queue=None
            if place is None
            else PlaceOut(ahead=place.ahead, expected_seconds=place.expected_seconds, reason=place.reason),
        )


class AttemptOut(BaseModel):
    """One attempt at grading (staff)."""

    number: int
    state: str
    node: str
    opened: datetime
    started: datetime | None
    finished: datetime | None


class ReviewBody(Body):
    """What staff decide about a result that waits for them."""

    rank: bool
    note: str = Field(default="", max_length=NOTE_CHARS)


class ReviewOut(BaseModel):
    """A result that staff look at before it is ranked (staff)."""

    state: Review
    note: str
    ranked: bool
    evidence: list[dict[str, Any]]
    """As in the Report: what was measured, and the limit it passed."""


class QuotaOut(BaseModel):
    """What is used, with what is under way, and the limits; null is no limit."""

    attempts_used: int
    attempt_limit: int | None
    seconds_used: float
    seconds_limit: float | None
    resets: datetime
