"""Runs beside the submission: turns messages into calls of its functions and answers into JSON.

Layouts reach the functions as `Layout(shape, stride)` with nested tuples, and may come back as any such pair.
ValueError means that a question has no answer.
"""

import sys
from operator import index
from typing import Any, NamedTuple

TOO_MANY = "TooManySteps"


class TooManySteps(BaseException):
    """A call went on for longer than work on modes can take."""


class Layout(NamedTuple):
    """A shape and a stride, integers or equally nested tuples."""

    shape: Any
    stride: Any


def answer(module: Any, method: str, message: Any, regions: Any = None) -> Any:
    """The reply to one message; `module` is the submission. No region is used."""
    del regions
    function = getattr(module, method)
    if method == "pick_swizzle":
        accesses = [(one["bytes"], [tuple(place) for place in one["places"]]) for one in message["accesses"]]
        return _swizzle(function(message["rows"], message["pitch"], accesses))
    return [_one(function, arguments) for arguments in message]


def _one(function: Any, arguments: Any) -> Any:
    """One answer: a layout, that the call raised, or what else it returned."""
    given = [_given(argument) for argument in arguments]
    try:
        result = _counted(function, given, cap(sum(map(_modes, given))))
    except TooManySteps as error:
        return {"raised": TOO_MANY, "text": str(error)}
    except Exception as error:  # noqa: BLE001 (whatever it raises is its answer)
        kind = "ValueError" if isinstance(error, ValueError) else type(error).__name__
        return {"raised": kind, "text": str(error)[:200]}
    if not isinstance(result, tuple | list) or len(result) != 2:
        return _returned(result)
    try:
        return {"shape": _lists(result[0]), "stride": _lists(result[1])}
    except (TypeError, RecursionError):
        return _returned(result)


def _swizzle(result: Any) -> Any:
    """Integers, or what else was returned."""
    try:
        return [index(value) for value in result]
    except TypeError:
        return _returned(result)


def _returned(result: Any) -> Any:
    """What is no answer, as text."""
    try:
        return {"returned": repr(result)[:200]}
    except Exception:  # noqa: BLE001 (its own code writes it)
        return {"returned": f"a {type(result).__name__}"}


def cap(modes: int) -> int:
    """Most steps, executed lines of Python, of one call whose arguments have so many modes together."""
    return 40 * (modes * modes + 50)


def _modes(argument: Any) -> int:
    """Leaves of a layout; a number counts as one."""
    if isinstance(argument, Layout):
        return _modes(argument.shape)
    return sum(map(_modes, argument)) if isinstance(argument, tuple) else 1


def _counted(function: Any, arguments: Any, most: int) -> Any:
    """The result of a call that executes at most so many lines. Raises TooManySteps."""
    steps = 0

    def count(_frame: Any, event: str, _value: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        if steps > most:
            raise TooManySteps(f"more than {most} steps")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return function(*arguments)
    finally:
        sys.settrace(before)


def _given(argument: Any) -> Any:
    if isinstance(argument, dict):
        return Layout(_tuples(argument["shape"]), _tuples(argument["stride"]))
    return argument


def _tuples(tree: Any) -> Any:
    return tuple(map(_tuples, tree)) if isinstance(tree, list) else tree


def _lists(tree: Any) -> Any:
    """Integers of any kind as they are; a fraction would be cut off without a word, so none is taken."""
    return [_lists(branch) for branch in tree] if isinstance(tree, tuple | list) else index(tree)
