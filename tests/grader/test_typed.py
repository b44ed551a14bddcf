"""Typed answers of a dialogue: what is taken, and the words for what is not."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from grader import typed
from grader.task import Json, Raised, Refused


class Assign(typed.Message):
    """One form of an action."""

    kind: Literal["assign"]
    rollout: int = Field(ge=0, lt=5)


class Move(typed.Message):
    """Another one."""

    kind: Literal["move"]
    to: tuple[int, int]
    share: float = 1.0


Action = Annotated[Assign | Move, Field(discriminator="kind")]
Actions = list[Action]


class Echo:
    """A candidate that gives one answer."""

    waited_ns = 0

    def __init__(self, answer: "Json | Raised") -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def ask(self, method: str, message: Json, *, deadline_seconds: float | None = None) -> "Json | Raised":
        self.asked.append((method, message, deadline_seconds))
        return self.answer

    write: Callable[..., None]
    read: Callable[..., Any]
    write_tensors: Callable[..., None]
    read_tensors: Callable[..., Any]


def test_an_answer_of_the_form_is_an_object() -> None:
    candidate = Echo([{"kind": "assign", "rollout": 1}, {"kind": "move", "to": [1, 2], "share": 2}])
    found = typed.ask(candidate, "act", Assign(kind="assign", rollout=3), Actions, deadline_seconds=2)
    assert found == [Assign(kind="assign", rollout=1), Move(kind="move", to=(1, 2), share=2.0)]
    assert candidate.asked == [("act", {"kind": "assign", "rollout": 3}, 2)]
    assert typed.read(int, 3) == 3
    assert typed.read(list[int], []) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "is None; a list is needed"),
        ([{}], "[0] is {}; a dict with its kind is needed"),
        ([{"kind": "stop"}], "has the kind stop; 'assign', 'move' are known"),
        ([{"kind": "assign"}], "rollout is missing"),
        ([{"kind": "assign", "rollout": True}], "rollout is True; an integer is needed"),
        ([{"kind": "assign", "rollout": 1.0}], "rollout is 1.0; an integer is needed"),
        ([{"kind": "assign", "rollout": "1"}], "rollout is 1; an integer is needed"),
        ([{"kind": "assign", "rollout": 5}], "rollout is 5; it must be below 5"),
        ([{"kind": "assign", "rollout": -1}], "rollout is -1; it must be at least 0"),
        ([{"kind": "move", "to": [1]}], "to[1] is missing"),
        ([{"kind": "move", "to": [1, 2], "x": 3}], "x is not known here; leave it out"),
        ([{"kind": "move", "to": [1, 2], "share": "much"}], "share is much; a number is needed"),
        (["x" * 1000], "..."),
    ],
)
def test_what_is_none_is_named_in_both_languages(value: Any, words: str) -> None:
    with pytest.raises(Refused) as refused:
        typed.ask(Echo(value), "act", None, Actions)
    assert words in refused.value.en
    assert refused.value.en.startswith("The answer to `act`")
    assert re.search("[\u4e00-\u9fff]", refused.value.zh)
    assert len(refused.value.en) < 300


def test_an_exception_in_place_of_an_answer_is_refused() -> None:
    with pytest.raises(Refused, match="`act` raised KeyError: 'k'"):
        typed.ask(Echo(Raised("KeyError", "'k'")), "act", None, Actions)


@pytest.mark.parametrize("value", [{"kind": "assign", "rollout": 9.5}, [1], None, "assign", 1 << 70])
def test_a_single_message_is_read_as_strictly(value: Any) -> None:
    with pytest.raises(Refused):
        typed.read(Assign, value)
