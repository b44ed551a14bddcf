"""What a candidate may say, as strict models."""

import json
import math
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from grader.plaintext import TEXT_CHARS, clean

MAX_FRAME = 64 << 10
"""Most bytes of one message, either way."""
MAX_DEPTH = 70
"""Of the values in a message; the harness refuses answers a little before."""
MAX_INTEGER = 1 << 63
"""Integers lie strictly between minus this and this: larger ones become neither a float nor a tensor."""

RequestId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
FailureKind: TypeAlias = Literal[
    "syntax", "import", "load_exception", "load_library", "missing_entry", "missing_symbol", "not_callable",
    "signature", "exception", "exit", "memory", "device_memory", "cuda", "returned", "status",
    "no_compiler", "artifact_size",
    "missing_method", "method_signature", "answer_form", "answer_size",
    "aborted",
]  # fmt: skip

_NUMBERED = ("status", "answer_size")
"""Kinds whose sentence tells a number."""


class ProtocolError(ValueError):
    """The bytes are no message that a candidate may send; the text is ours and safe to show."""


class Answer(BaseModel):
    """Base of all messages from a candidate: nothing unknown, nothing coerced."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Ready(Answer):
    """The harness has started and imported what its language needs."""

    type: Literal["ready"]
    python: str = Field(max_length=64)
    torch: str = Field(max_length=64)
    triton: str = Field(max_length=64)


class Done(Answer):
    """A request was carried out."""

    type: Literal["loaded", "bound", "called", "armed", "opened"]
    id: RequestId
    remark: str = Field(default="", max_length=1000)
    """Of a round on a device: why its calls could not be captured in a graph."""


class Built(Answer):
    """The compiler has ended; log and artifact lie in the arena."""

    type: Literal["built"]
    id: RequestId
    status: int = Field(ge=-255, le=255)
    """Exit code of the compiler, or minus the signal that ended it."""
    log_bytes: int = Field(ge=0)
    artifact_bytes: int = Field(ge=0)


class Failed(Answer):
    """A request could not be carried out because of the submission."""

    type: Literal["failed"]
    id: RequestId
    kind: FailureKind
    text: str = Field(max_length=TEXT_CHARS)
    number: int | None = Field(default=None, ge=-(1 << 31), lt=1 << 31)

    @model_validator(mode="after")
    def _has_its_number(self) -> Self:
        if (self.number is None) == (self.kind in _NUMBERED):
            raise ValueError("a number with these kinds, and with no other")
        return self


class RaisedAnswer(Answer):
    """An exception out of the submission's own code, as an answer."""

    kind: str = Field(max_length=200)
    text: str = Field(max_length=1000)
    trace: str = Field(max_length=TEXT_CHARS)


class Reply(Answer):
    """The answer to a question of a dialogue: plain JSON, or an exception."""

    type: Literal["reply"]
    id: RequestId
    value: Any
    raised: RaisedAnswer | None


class Sending(Answer):
    """A rank hands over a message that lies in its arena; `to` is -1 where `named` is no rank."""

    type: Literal["send"]
    id: RequestId
    to: int = Field(ge=-1, lt=1 << 16)
    named: int = Field(ge=-(1 << 31), lt=1 << 31)
    """The rank as the submission calls it, in its own group."""
    bytes: int = Field(ge=0, lt=1 << 62)
    where: str = Field(max_length=500)
    """The line of the submission."""


class Receiving(Answer):
    """A rank waits for the next message from another."""

    type: Literal["receive"]
    id: RequestId
    source: int = Field(ge=-1, lt=1 << 16)
    named: int = Field(ge=-(1 << 31), lt=1 << 31)
    where: str = Field(max_length=500)


class Ended(Answer):
    """A rank among several has ended; its parent in the sandbox says so in its place."""

    type: Literal["ended"]
    status: int = Field(ge=-255, le=255)
    """Exit code, or minus the signal that ended it."""


Message: TypeAlias = Ready | Done | Built | Failed | Reply | Sending | Receiving | Ended
_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])


def decode(body: bytes) -> Message:
    """Parse one frame. Raises ProtocolError for anything that is not exactly a message."""
    try:
        value = json.loads(
            body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {clean(str(error), 200)}") from error
    if not isinstance(value, dict):
        raise ProtocolError("not a JSON object")
    try:
        return _ADAPTER.validate_python(_plain(value, 0))
    except (ValidationError, RecursionError) as error:
        raise ProtocolError(f"not a known message: {_first_fault(error)}") from error


def _plain(value: Any, depth: int) -> Any:
    """Parsed JSON with all its text cleaned. Raises ProtocolError for what our harness never sends."""
    if depth > MAX_DEPTH:
        raise ProtocolError("too deeply nested")
    if isinstance(value, str):
        return clean(value, MAX_FRAME)
    if isinstance(value, float) and not math.isfinite(value):
        raise ProtocolError("a number that is not finite")  # Such as 1e999, which JSON allows.
    if isinstance(value, int) and abs(value) >= MAX_INTEGER:
        raise ProtocolError("an integer of more than 64 bits")
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean(key, MAX_FRAME): _plain(item, depth + 1) for key, item in value.items()}
    return value


def _first_fault(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "too deeply nested"
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return clean(f"{where}: {fault['type']}", 200)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object names a key twice")
    return value
