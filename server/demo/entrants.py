"""Who submits what in the demo: solutions of `reference/`, each by a student of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.contract import Language, Verdict
from grader.languages import SUFFIX, cpp_compiler

HEADER_LINES = 10
FIRST = "kernels/add-rmsnorm"
"""The assignment of which most is shown."""
OF_FIRST, OTHERS = 8, 1
"""Wrong solutions of it, and of each other assignment, where nobody says how many: the demo has minutes."""
RIGHT = ("solution", "naive", "predict")
"""Beginnings of the names of right solutions that are shown; others, as a library's, only with all."""
SUFFIXES = (".py", ".cpp")
"""What a machine without a GPU grades."""
NAMES = (
    "ada", "amaya", "anton", "bao", "bela", "chen", "clara", "dana", "dora", "emil", "esra", "fang", "finn",
    "grace", "hana", "hugo", "ines", "ivan", "jun", "kofi", "lena", "lin", "mei", "mila", "nils", "noor",
    "olga", "omar", "ping", "qiu", "rosa", "sana", "tao", "theo", "uma", "vera", "wen", "xia", "yara", "zoe",
)  # fmt: skip
_HEADER = re.compile(r"solmark:\s*(?P<key>verdict|language|name|with)=(?P<value>\S+)")


class HeaderError(ValueError):
    """A file in `reference/` does not say which verdict it must get."""


class CountError(RuntimeError):
    """No number of wrong solutions."""


@dataclass(frozen=True)
class Entry:
    """One submission of the demo."""

    assignment: str
    path: Path
    expected: Verdict
    language: str | None
    files: Mapping[str, Path]
    """What is handed in, by name: the path, and what its header wants beside it."""
    student: str
    """Login."""

    @property
    def is_cpp(self) -> bool:
        """Whether C++ must be compiled to grade it."""
        return any(name.endswith(SUFFIX[Language.CPP]) for name in self.files)


def entries(
    reference: Path, assignments: Sequence[str], wrong: Mapping[str, int] | None = None
) -> list[Entry]:
    """Solutions of the assignments; the n-th of each is submitted by the n-th student.

    Of the wrong ones of an assignment at most as many as `wrong` says, spread evenly over their names, and of
    the right ones those of `RIGHT`; all where it does not name the assignment.
    """
    most = wrong or {}
    return [
        Entry(name, path, *_header(path, reference / name), student=login(number))
        for name in assignments
        for number, path in enumerate(_solutions(reference / name, most.get(name)))
    ]


def most_wrong(assignments: Sequence[str], asked: str) -> Mapping[str, int]:
    """For `entries`: `asked` is a number for each assignment, `all`, or empty for what fits into the demo.

    Raises CountError if it is something else.
    """
    if asked == "all":
        return {}
    if asked and not asked.isdecimal():
        raise CountError(f"DEMO_WRONG={asked}: a number is needed, or `all`")
    if asked:
        return dict.fromkeys(assignments, int(asked))
    return {name: OF_FIRST if name == FIRST else OTHERS for name in assignments}


def gradable(found: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Those that this machine can grade, and those that it cannot: C++ where there is no g++."""
    compiles = cpp_compiler() is not None
    return (
        [entry for entry in found if compiles or not entry.is_cpp],
        [entry for entry in found if not compiles and entry.is_cpp],
    )


def login(number: int) -> str:
    """Login of the n-th student, from 0."""
    turn, index = divmod(number, len(NAMES))
    return NAMES[index] + (str(turn + 1) if turn else "")


def _solutions(folder: Path, wrong: int | None) -> Iterator[Path]:
    yield from (path for path in _sources(folder) if wrong is None or path.stem.startswith(RIGHT))
    found = _sources(folder / "wrong")
    count = len(found) if wrong is None else min(wrong, len(found))
    yield from (found[index * len(found) // count] for index in range(count))


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES)


def _header(path: Path, folder: Path) -> tuple[Verdict, str | None, Mapping[str, Path]]:
    with path.open(encoding="utf-8") as file:
        head = "".join(line for _, line in zip(range(HEADER_LINES), file, strict=False))
    found = {match["key"]: match["value"] for match in _HEADER.finditer(head)}
    try:
        others = {Path(name).name: folder / name for name in found.get("with", "").split(",") if name}
        files = {found.get("name", f"solution{path.suffix}"): path, **others}
        return Verdict(found["verdict"]), found.get("language"), files
    except (KeyError, ValueError):
        raise HeaderError(f"{path}: its first lines must say `solmark: verdict=...`") from None
