"""What the API's answers share: the error shape, pages of lists, times with their zone."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


class Body(BaseModel):
    """Base of what clients send: unknown keys are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")


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


ERRORS: dict[int | str, dict[str, Any]] = {
    422: {"model": ErrorDocument, "description": "A value is invalid"},
    "default": {"model": ErrorDocument, "description": "Any other error"},
}
"""For `APIRouter(responses=...)`: documents the error shape."""
