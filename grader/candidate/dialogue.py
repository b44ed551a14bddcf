"""Dialogues: the judge's questions as calls of the submission, its answers as plain JSON.

An assignment's `adapter.py` may define `answer(module, method, message, regions)`, which turns a message into
calls of the submission's functions, classes or modules. Without one the method names what is called: with an
object's entries by keyword, a list's by position, anything else as its one argument. `plan` is a function.
`Scheduler`, a class, is made an object of, which is kept for the episode; `Scheduler.step` is a method of it.
"""

import importlib.util
import inspect
import json
import math
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .arena import Arena
from .failures import TEXT_CHARS, SubmissionError, of_exception, out_of_memory, words
from .regions import Regions

MESSAGE_BYTES = 64 << 10
"""Of an answer with its envelope, as the judge reads it."""
_ENVELOPE = 256
_DEPTH = 64
_MAX_INTEGER = 1 << 63


Adapter = Callable[[ModuleType, str, Any, Regions], Any]


class Dialogue:
    """One submission that answers; `folder` is where its files lie, `adapter` the assignment's file."""

    def __init__(self, arena: Arena, folder: str, adapter: str) -> None:
        self._arena = arena
        self._folder = folder
        self._adapter_file = adapter
        self._adapter: Adapter | None = None
        self._regions = Regions(arena, [])
        self._objects: dict[str, Any] = {}
        """By class, the object of this episode."""

    def open(self, regions: list[dict[str, Any]]) -> None:
        """Begin an episode with these regions."""
        self._objects.clear()
        if self._adapter is None:
            self._adapter = _load(self._adapter_file) if Path(self._adapter_file).exists() else self._call
        self._regions = Regions(self._arena, regions)

    def answer(self, module: ModuleType, method: str, message: Any) -> dict[str, Any]:
        """Fields of the reply: `value`, or `raised`, an exception of the submission, typed."""
        assert self._adapter is not None
        try:
            value = self._adapter(module, method, message, self._regions)
        except BaseException as error:  # noqa: BLE001 (whatever student code raises is an answer)
            return {"value": None, "raised": self._raised(error, module, method)}
        finally:
            _flush()
        return {"value": _plain(value), "raised": None}

    def _raised(self, error: BaseException, module: ModuleType, method: str) -> dict[str, str]:
        """An exception out of the submission's own code as an answer; all others are failures."""
        if isinstance(error, SubmissionError):
            raise error
        ours = not _inside(error, self._folder)
        owners = [module, *self._objects.values()]
        if isinstance(error, AttributeError) and ours and any(error.obj is one for one in owners):
            raise SubmissionError("missing_method", str(error.name)) from error
        if isinstance(error, SystemExit) or out_of_memory(error):
            raise of_exception(error, self._folder, "exception") from error
        if ours:
            kind = "method_signature" if isinstance(error, TypeError) else "answer_form"
            raise SubmissionError(kind, f"{method}: {type(error).__name__}: {words(error)}") from error
        return {
            "kind": type(error).__name__[:200],
            "text": words(error)[:1000],
            "trace": of_exception(error, self._folder, "exception").text[:TEXT_CHARS],
        }

    def _call(self, module: ModuleType, method: str, message: Any, _regions: Regions) -> Any:
        """The call that a method names, where the assignment has no adapter."""
        owner, _, name = method.rpartition(".")
        if owner and owner not in self._objects:
            raise SubmissionError("missing_method", owner)
        function = getattr(self._objects[owner] if owner else module, name)
        if not callable(function):
            raise SubmissionError("missing_method", method)
        arguments = message if isinstance(message, list) else [] if isinstance(message, dict) else [message]
        named = message if isinstance(message, dict) else {}
        try:
            inspect.signature(function).bind(*arguments, **named)
        except TypeError as error:
            given = ", ".join([*("..." for _ in arguments), *named])
            raise SubmissionError("method_signature", f"{method}({given}): {error}") from error
        except ValueError:  # A function without a signature: the call itself will tell.
            pass
        result = function(*arguments, **named)
        if inspect.isclass(function):
            self._objects[method] = result
            return None
        return result


def _inside(error: BaseException, folder: str) -> bool:
    """Whether the submission's own code was running when it was raised."""
    return any(frame.filename.startswith(folder) for frame in traceback.extract_tb(error.__traceback__))


def _load(file: str) -> Adapter:
    spec = importlib.util.spec_from_file_location("solmark_adapter", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    adapter: Adapter = module.answer
    return adapter


def _plain(value: Any) -> Any:
    """The value as JSON takes it. Raises SubmissionError for what is no JSON, too deep or too large."""
    try:
        plain = _walk(value, 0)
        size = len(json.dumps(plain, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SubmissionError("answer_form", str(error)) from error
    if size > MESSAGE_BYTES - _ENVELOPE:
        raise SubmissionError("answer_size", number=size)
    return plain


def _walk(value: Any, depth: int) -> Any:
    if depth > _DEPTH:
        raise ValueError(f"the answer is nested more than {_DEPTH} deep")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if not -_MAX_INTEGER < value < _MAX_INTEGER:
            raise ValueError(f"the answer holds an integer of {int(value).bit_length()} bits; 63 are taken")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"the answer holds {value}, which is no JSON number")
        return float(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the answer has a key of type {type(key).__name__}; keys are strings")
        return {key: _walk(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(entry, depth + 1) for entry in value]
    if hasattr(value, "tolist"):  # A tensor, an array, or a number out of one.
        return _walk(value.tolist(), depth)
    raise TypeError(f"the answer holds a {type(value).__name__}; numbers, strings, lists and dicts are taken")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # The submission may have closed it.
            continue
