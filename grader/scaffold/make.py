"""Writes a new assignment and its solutions."""

import re
from collections.abc import Mapping
from pathlib import Path

from grader.scaffold import dialogue, function

KINDS: Mapping[str, Mapping[str, str]] = {"function": function.FILES, "dialogue": dialogue.FILES}
"""Kind to its files: paths from the checkout's root, with `@ID@` in them, to texts."""
MAX_CHARS = 128
"""Of a name, as assignment.toml takes it."""
_TOPIC = re.compile(r"[0-9]\.[0-9]{1,2}")
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*")


class ScaffoldError(ValueError):
    """The assignment cannot be made; the text says why."""


def make(name: str, kind: str, checkout: Path, topic: str = "0.0") -> list[Path]:
    """Write `assignments/<name>` and `reference/<name>` under `checkout`; return the files.

    Nothing is written over. Raises ScaffoldError.
    """
    if not _ID.fullmatch(name):
        raise ScaffoldError(f"{name!r} is no track/slug; right is lower-case words: kernels/add-rmsnorm")
    if len(name) > MAX_CHARS:
        raise ScaffoldError(f"the name has {len(name)} letters; at most {MAX_CHARS} are taken")
    if not _TOPIC.fullmatch(topic):
        raise ScaffoldError(f"{topic!r} is no topic; right is a number of the syllabus: 1.4")
    if kind not in KINDS:
        raise ScaffoldError(f"there is no template of the kind {kind!r}; known: {', '.join(KINDS)}")
    try:
        for folder in (checkout / "assignments" / name, checkout / "reference" / name):
            if folder.exists():
                raise ScaffoldError(f"{folder} exists")
        return _written(name, kind, checkout, topic)
    except OSError as error:
        raise ScaffoldError(f"cannot be written: {error}") from error


def _written(name: str, kind: str, checkout: Path, topic: str) -> list[Path]:
    track, _, slug = name.partition("/")
    written = []
    for path, text in KINDS[kind].items():
        file = checkout / path.replace("@ID@", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        filled = text
        for mark, value in (("@ID@", name), ("@TRACK@", track), ("@SLUG@", slug), ("@TOPIC@", topic)):
            filled = filled.replace(mark, value)
        file.write_text(filled, "utf-8")
        written.append(file)
    return written
