"""Typed messages of a dialogue: the form of an answer as pydantic models, and words for what is none.

    class Assign(Message):
        kind: Literal["assign"]
        rollout: int = Field(ge=0)
        engine: int = Field(ge=0, lt=8)

    actions = typed.ask(candidate, "on_event", state, list[Assign | Migrate])

An answer of another form, or an exception in its place, ends the episode with a sentence in both languages
that names the place of the first fault (`grader.task.Refused`).
"""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, overload

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from grader.task import Candidate, Json, Raised, Refused

__all__ = ["Message", "ask", "read"]

Kind = TypeVar("Kind")
Sentences = tuple[str, str]
_SHOWN = 60


class Message(BaseModel):
    """Base of the messages of a dialogue: nothing unknown, nothing coerced, immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def json_value(self) -> Json:
        """As `Candidate.ask` sends it."""
        return cast("Json", self.model_dump(mode="json"))


@overload
def ask(
    candidate: Candidate,
    method: str,
    message: "Json | Message",
    kind: type[Kind],
    *,
    deadline_seconds: float | None = None,
) -> Kind: ...


@overload
def ask(
    candidate: Candidate,
    method: str,
    message: "Json | Message",
    kind: object,
    *,
    deadline_seconds: float | None = None,
) -> Any: ...


def ask(
    candidate: Candidate,
    method: str,
    message: "Json | Message",
    kind: Any,
    *,
    deadline_seconds: float | None = None,
) -> Any:
    """One question, and its answer as `kind`: a class, or an alias such as a union.

    Raises Refused where it is none, or the submission raised.
    """
    sent = message.json_value() if isinstance(message, Message) else message
    reply = candidate.ask(method, sent, deadline_seconds=deadline_seconds)
    if isinstance(reply, Raised):
        what = _short(f"{reply.kind}: {reply.text}", 1000)
        raise Refused(f"`{method}` raised {what}", f"`{method}` 抛出了 {what}")
    return read(kind, reply, f"answer to `{method}`", f"对 `{method}` 的回答")


@overload
def read(kind: type[Kind], value: Json, what: str = ..., what_zh: str = ...) -> Kind: ...


@overload
def read(kind: object, value: Json, what: str = ..., what_zh: str = ...) -> Any: ...


def read(kind: Any, value: Json, what: str = "answer", what_zh: str = "回答") -> Any:
    """A value as `kind`: a Message, or anything made of such (`list[Move]`, `int`, a union by `kind`).

    Raises Refused with the place and the sort of the first fault.
    """
    try:
        # As JSON: tuples may come as lists, and yet nothing else is coerced.
        return _adapter(kind).validate_json(json.dumps(value))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = _place(fault["loc"])
        wrong, wrong_zh = _words(str(fault["type"]), fault.get("ctx", {}), fault["input"])
        raise Refused(
            f"The {what}{place} {wrong}.", f"{what_zh}{place + ' ' if place else ''}{wrong_zh}。"
        ) from None


@functools.lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    has_own = isinstance(kind, type) and issubclass(kind, BaseModel)
    return TypeAdapter(kind, config=None if has_own else _STRICT)


_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


def _place(location: tuple[int | str, ...]) -> str:
    """`[3].engine`, without the names that pydantic gives to members of a union."""
    steps = [step for step in location if isinstance(step, int) or str(step).isidentifier()]
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)[:200]


_TYPES: Mapping[str, Sentences] = {
    "int_type": ("an integer", "整数"),
    "int_from_float": ("an integer", "整数"),
    "float_type": ("a number", "数"),
    "finite_number": ("a finite number", "有限的数"),
    "string_type": ("a string", "字符串"),
    "bool_type": ("true or false", "true 或 false"),
    "list_type": ("a list", "列表"),
    "tuple_type": ("a list", "列表"),
    "dict_type": ("a dict", "字典"),
    "model_type": ("a dict", "字典"),
    "model_attributes_type": ("a dict", "字典"),
    "none_required": ("None", "None"),
}


def _words(fault: str, context: Mapping[str, Any], value: Any) -> Sentences:
    """What is wrong, as the rest of a sentence."""
    shown = _short(value if isinstance(value, str) else repr(value))
    if fault in _TYPES:
        en, zh = _TYPES[fault]
        return f"is {shown}; {en} is needed", f"是 {shown}；需要{zh}"
    sentence = _SENTENCES.get(fault)
    if sentence is not None:
        return sentence(context, shown)
    return f"is {shown}, which is not of the form that is asked ({fault})", f"是 {shown}，形式不符（{fault}）"


def _compared(name: str, en: str, zh: str) -> Callable[[Mapping[str, Any], str], Sentences]:
    return lambda context, shown: (
        f"is {shown}; it must be {en} {context[name]}",
        f"是 {shown}；必须{zh} {context[name]}",
    )


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any], str], Sentences]] = {
    "missing": lambda _context, _shown: ("is missing", "缺失"),
    "extra_forbidden": lambda _context, _shown: ("is not known here; leave it out", "未知，请去掉"),
    "greater_than_equal": _compared("ge", "at least", "不小于"),
    "less_than_equal": _compared("le", "at most", "不大于"),
    "greater_than": _compared("gt", "above", "大于"),
    "less_than": _compared("lt", "below", "小于"),
    "literal_error": lambda context, shown: (
        f"is {shown}; it must be {context['expected']}",
        f"是 {shown}；必须是 {context['expected']}",
    ),
    "too_long": lambda context, _shown: (
        f"has more than {context['max_length']} entries",
        f"的项数超过 {context['max_length']}",
    ),
    "too_short": lambda context, _shown: (
        f"has fewer than {context['min_length']} entries",
        f"的项数少于 {context['min_length']}",
    ),
    "string_too_long": lambda context, _shown: (
        f"has more than {context['max_length']} characters",
        f"超过 {context['max_length']} 个字符",
    ),
    "union_tag_invalid": lambda context, _shown: (
        f"has the kind {_short(str(context['tag']))}; {context['expected_tags']} are known",
        f"的 kind 是 {_short(str(context['tag']))}；可用的有 {context['expected_tags']}",
    ),
    "union_tag_not_found": lambda _context, shown: (
        f"is {shown}; a dict with its kind is needed",
        f"是 {shown}；需要带有 kind 的字典",
    ),
}


def _short(words: str, limit: int = _SHOWN) -> str:
    return words if len(words) <= limit else f"{words[: limit - 3]}..."
