"""What is wrong with an assignment: every fault at once, each with its place and what would be right."""

import datetime as dt
import difflib
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

Location = Sequence[str | int]


@dataclass(frozen=True)
class Fault:
    """One fault: file (relative to the assignment; empty where there is none to look into), key or line, what
    is wrong, what would be right.
    """

    file: str
    key: str
    wrong: str
    right: str = ""

    def __str__(self) -> str:
        place = f"{self.file}: {self.key}" if self.key else self.file
        return (f"{place}: " if place else "") + self.wrong + (f"; {self.right}" if self.right else "")


class AssignmentError(ValueError):
    """An assignment that cannot be found, read or graded. `faults` lists everything that is wrong with it."""

    def __init__(self, where: str, faults: Sequence[Fault]) -> None:
        self.where = where
        self.faults = tuple(faults)
        if any(fault.file for fault in faults):
            count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
            super().__init__(f"{where}: {count}\n" + "\n".join(f"  {fault}" for fault in faults))
        else:
            super().__init__(f"{where}: " + "; ".join(map(str, faults)))


def near(name: str, known: Iterable[str]) -> str:
    """A suggestion: the nearest known name, else all of them."""
    names = sorted(set(known))
    matches = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if matches:
        return f"did you mean {matches[0]!r}?"
    return f"known: {', '.join(names)}" if names else "there are none"


def key_path(location: Location, document: object = None) -> str:
    """A key path for people: `cases["wide"].tolerance.y`; an entry without a name is `#3` (the third)."""
    path = ""
    for step in location:
        if isinstance(step, int):
            entry = document[step] if isinstance(document, list) and step < len(document) else None
            label = _label(entry)
            path += f'["{label}"]' if label else f"[#{step + 1}]"
            document = entry
        else:
            path += f".{step}" if path else step
            document = document.get(step) if isinstance(document, dict) else None
    return path


def from_validation(
    error: ValidationError, model: type[BaseModel], file: str, document: object
) -> list[Fault]:
    """One fault for each complaint of pydantic; the fields' descriptions say what would be right."""
    faults = []
    for detail in error.errors():
        location: Location = tuple(step for step in detail["loc"] if step != "[key]")
        if detail["type"] == "too_short" and detail["input"]:
            continue  # Its entries are there and faulty: each has a fault of its own.
        key = key_path(location, document)
        owner, field = _resolve(model, location)
        right = (field.description or "") if field is not None else ""
        match detail["type"]:
            case "extra_forbidden":
                known = owner.model_fields if owner is not None else {}
                faults.append(Fault(file, key, "there is no such key", near(str(location[-1]), known)))
            case "missing":
                faults.append(Fault(file, key, "is missing", right and f"give {right}"))
            case "enum" | "literal_error":
                known_values = re.findall(r"'([^']*)'", detail["ctx"]["expected"])
                right = near(str(detail["input"]), known_values)
                faults.append(Fault(file, key, f"{detail['input']!r} is not known here", right))
            case _:
                found = "" if isinstance(detail["input"], dict | list) else f" (found {detail['input']!r})"
                message = detail["msg"].removeprefix("Value error, ")
                faults.append(Fault(file, key, message + found, right and f"right is {right}"))
    return faults


def from_dates(document: object, file: str) -> list[Fault]:
    """One fault for each date or time: TOML has them, these files have not."""
    faults: list[Fault] = []

    def walk(value: object, location: tuple[str | int, ...]) -> None:
        if isinstance(value, dict):
            for name, entry in value.items():
                walk(entry, (*location, name))
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                walk(entry, (*location, index))
        elif isinstance(value, dt.date | dt.time):
            wrong = f"{value} is a date or time"
            faults.append(Fault(file, key_path(location, document), wrong, "quote it, or give a number"))

    walk(document, ())
    return faults


def _label(entry: object) -> str | None:
    if isinstance(entry, Mapping):
        for name in ("id", "name", "hardware"):
            if isinstance(entry.get(name), str):
                return str(entry[name])
    return None


def _resolve(model: type[BaseModel], location: Location) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The model that holds the last key of the location, and that key's field, where they can be told."""
    owner: type[BaseModel] | None = model
    field: FieldInfo | None = None
    annotation: Any = model
    for step in location:
        nested = _model_of(annotation)
        if nested is not None and isinstance(step, str):
            owner, field = nested, nested.model_fields.get(step)
            annotation = None if field is None else field.annotation
        else:
            annotation = _item_of(annotation)
    return owner, field


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next((found for arg in typing.get_args(annotation) if (found := _model_of(arg))), None)
    return None


def _item_of(annotation: Any) -> Any:
    """The type of an entry of a tuple or of a value of a dict; None for anything else."""
    arguments = [argument for argument in typing.get_args(annotation) if argument is not Ellipsis]
    return arguments[-1] if arguments else None
