"""Takes what pydantic refused out of a TOML document, so that the rest of it can be checked too.

An author then sees all faults of an assignment at once, not first those of form and then those of meaning.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Checked = TypeVar("Checked", bound=BaseModel)

_ROUNDS = 4
UNKNOWN_ID = "unknown/unknown"
_STAND_INS: Mapping[tuple[str, ...], Any] = {
    ("id",): UNKNOWN_ID,
    ("title",): {"en": "-", "zh": "-"},
    ("title", "en"): "-",
    ("title", "zh"): "-",
    ("topics",): ["0.0"],
    ("parts", "kind"): "function",
    ("parts", "languages"): ["python", "triton", "cpp", "cuda"],
    ("cases", "role"): "test",
}
"""Values for required keys that nothing else refers to. An entry that lacks another one is dropped."""


def validate(model: type[Checked], document: Mapping[str, Any]) -> Checked:
    """The document as a model. Raises ValidationError."""
    # Through JSON: pydantic's strict mode then takes an array for a tuple and a string for an enum. Dates are
    # faults of their own.
    return model.model_validate_json(json.dumps(document, default=str))


def salvage(model: type[Checked], document: Mapping[str, Any]) -> Checked | None:
    """The model of what is right in a faulty document, None where too little is left."""
    rest: dict[str, Any] = copy.deepcopy(dict(document))
    for _ in range(_ROUNDS):
        try:
            return validate(model, rest)
        except ValidationError as error:
            if not _repair(rest, error):
                return None
    return None


def _repair(document: dict[str, Any], error: ValidationError) -> bool:
    """Change the document in place, True if every complaint was dealt with."""
    dropped: set[tuple[str, int]] = set()
    for detail in error.errors():
        location = tuple(step for step in detail["loc"] if step != "[key]")
        names = tuple(step for step in location if isinstance(step, str))
        if detail["type"] == "too_short" and detail["input"]:
            continue  # Only because its entries were refused.
        if names in _STAND_INS and detail["type"] != "extra_forbidden":
            _put(document, location, _STAND_INS[names])
        elif not _remove(document, location, missing=detail["type"] in ("missing", "too_short")):
            if len(location) < 2 or not isinstance(location[0], str) or not isinstance(location[1], int):
                return False
            dropped.add((location[0], location[1]))
    for section, index in sorted(dropped, reverse=True):
        del document[section][index]
    return True


def _put(document: Any, location: tuple[str | int, ...], value: Any) -> None:
    # A complaint about an entry of a list is met by replacing the list.
    while isinstance(location[-1], int):
        location = location[:-1]
    for step in location[:-1]:
        document = document[step]
    document[location[-1]] = copy.deepcopy(value)


def _remove(document: Any, location: tuple[str | int, ...], *, missing: bool) -> bool:
    """Remove a faulty key, or the table that lacks one if it lies inside an entry."""
    if missing:
        return len(location) > 3 and _delete(document, location[:-1])
    return _delete(document, location)


def _delete(document: Any, location: tuple[str | int, ...]) -> bool:
    """Remove a key, False for an entry of a list: its place is still needed."""
    for step in location[:-1]:
        try:
            document = document[step]
        except KeyError:
            return True  # Another complaint has removed the table that it was in.
    if not isinstance(document, dict):
        return False
    document.pop(location[-1], None)
    return True
