"""What the API's answers share: the error shape, pages of lists, times with their zone."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from grader.contract import OFFERED_MODES, Mode

Item = TypeVar("Item")
Row = TypeVar("Row")
MAX_ID = (1 << 31) - 1
"""Largest id that the database's integers hold."""
YEARS = range(2000, 2201)
"""Years of dates that are taken: near the ends of the calendar a change of zone would overflow."""


def plain(value: str) -> str:
    """The text, if both databases can store it: raises for NUL and for lone surrogates."""
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise PydanticCustomError("plain_text", "text without NUL and lone surrogates is needed")
    return value


def _in_range(value: datetime) -> datetime:
    if value.year not in YEARS:
        raise PydanticCustomError(
            "moment", "a time from {first} to {last} is needed", {"first": YEARS[0], "last": YEARS[-1]}
        )
    return value


def _offered(value: Any) -> Any:
    if value not in OFFERED_MODES:
        expected = " or ".join(f"'{mode.value}'" for mode in OFFERED_MODES)
        raise PydanticCustomError("enum", "Input should be {expected}", {"expected": expected})
    return value


OfferedMode = Annotated[
    Mode,
    BeforeValidator(_offered),
    WithJsonSchema({"type": "string", "enum": [mode.value for mode in OFFERED_MODES]}),
]
"""A mode in which the server takes submissions."""
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
"""The id of a row."""
Moment = Annotated[AwareDatetime, AfterValidator(_in_range)]
"""A time with its zone that every zone can show."""
PlainText = Annotated[str, AfterValidator(plain)]
"""Text that can be stored."""


class Body(BaseModel):
    """Base of what clients send: unknown keys are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")
    contents: ClassVar[frozenset[str]] = frozenset()
    """Keys whose values are not stored as text: what they may hold is checked elsewhere."""

    @model_validator(mode="before")
    @classmethod
    def _is_plain(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            for key, item in value.items():
                _check_plain(key)
                if key not in cls.contents:
                    _check_plain(item)
        return value


def _check_plain(value: Any) -> None:
    """Raise for text that cannot be stored, however deep in the value it lies."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            plain(item)
        elif isinstance(item, Mapping):
            waiting.extend((*item.keys(), *item.values()))
        elif isinstance(item, list):
            waiting.extend(item)


class Error(BaseModel):
    """One error."""

    code: str
    """Stable, for programs."""
    message: str
    message_zh: str
    details: dict[str, Any]


class ErrorDocument(BaseModel):
    """The shape of every answer that is not a success."""

    error: Error


class Items(BaseModel, Generic[Item]):
    """One page of a list. Ask again with `after=next` for the following one; null: this was the last."""

    items: Sequence[Item]
    next: int | None = None


def cut(rows: Sequence[Row], after: int, limit: int) -> tuple[Sequence[Row], int | None]:
    """One page of a list that is at hand as a whole, and the cursor of the next: a position in the list."""
    end = after + limit
    return rows[after:end], end if end < len(rows) else None


ERRORS: dict[int | str, dict[str, Any]] = {
    422: {"model": ErrorDocument, "description": "A value is invalid"},
    "default": {"model": ErrorDocument, "description": "Any other error"},
}
"""For `APIRouter(responses=...)`: documents the error shape."""
