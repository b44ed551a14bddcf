"""Solutions under `reference/<track>/<slug>`, each with the verdict that it must get.

Every file's first ten lines name it: `# solmark: verdict=wrong_answer`, and where needed `mode=grade` (its
bug shows in timed cases alone), `language=triton`, `name=predict.py` (handed in under this name) and
`with=shared/helper.py` (another file handed in beside it, under its own name). A best one may say
`reaches=0.95`, the least share of the bound, as a geometric mean over the timed cases and over the hidden
ones, and `library=none`, where no library offers what is asked. The first other comment tells the bug.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.assignment import Assignment
from grader.check.finding import Finding, fails, holds, warning
from grader.contract import Language, Mode, Verdict

SUFFIXES = (".py", ".cpp", ".cu")
LEAST_WRONG = 6
LEAST_CHEATS = 2
_NOTE = re.compile(r"^(?:#|//) solmark: (\w+)=(\S+)$")
_KEYS = {"verdict", "mode", "language", "name", "with", "reaches", "library"}

Role = Literal["best", "naive", "library", "wrong"]


class HeaderError(ValueError):
    """A solution that does not say what must come of it."""


@dataclass(frozen=True)
class Solution:
    """One submission of the author's own."""

    label: str
    role: Role
    files: Mapping[str, bytes]
    verdict: Verdict
    mode: Mode
    language: Language | None
    bug: str
    reaches: float | None = None
    """Least share of the bound, as a geometric mean over priced cases."""
    no_library: bool = False
    """Its author knows of no library call that does the same."""


def folder(assignment: Assignment) -> Path:
    """Where the solutions of an assignment lie: beside `assignments/`, in no bundle."""
    return assignment.root.parents[2] / "reference" / assignment.id


def read(root: Path, hardware: str = "cpu") -> tuple[list[Solution], list[Finding]]:
    """All solutions, and one finding for each file that is none.

    Those for one hardware class alone lie in a folder of its name.
    """
    solutions, findings = [], []
    for path in sorted([*root.glob("*"), *root.glob("wrong/*"), *root.glob(f"{hardware}/*")]):
        if path.suffix in SUFFIXES and path.is_file():
            try:
                solutions.append(_solution(path, root))
            except HeaderError as error:
                findings.append(fails(path.relative_to(root).as_posix(), str(error)))
    order = ("best", "naive", "library", "wrong")
    return sorted(solutions, key=lambda solution: order.index(solution.role)), findings


def strays(root: Path, classes: Collection[str]) -> list[Finding]:
    """One finding for each file that nobody would ever grade: in a folder that is none, or of another ending.

    `classes`: the hardware classes of the assignment's targets, whose folders hold solutions. Files that a
    solution names with `with=` lie anywhere; so do notes (`.md`), except among the wrong solutions.
    """
    folders = [root, root / "wrong", *(root / name for name in classes)]
    taken = {path for folder in folders for path in folder.glob("*") if path.suffix in SUFFIXES}
    beside = {root / name for path in taken if path.is_file() for name in _beside(path)}
    return [
        fails(
            path.relative_to(root).as_posix(),
            f"is never graded: solutions end in {', '.join(SUFFIXES)} and lie in the folder itself, in wrong/"
            + "".join(f", in {name}/" for name in sorted(classes)),
        )
        for path in _files(root)
        if path not in taken | beside and (path.suffix != ".md" or root / "wrong" in path.parents)
    ]


def _files(root: Path) -> Iterator[Path]:
    """All files below, those left aside that editors and interpreters leave behind."""
    for path in sorted(root.rglob("*")):
        names = path.relative_to(root).parts
        if not path.is_dir() and "__pycache__" not in names and not any(name[0] == "." for name in names):
            yield path


def _beside(path: Path) -> list[str]:
    """The files that a solution's header names; none where it cannot be read."""
    try:
        return _named(_notes(path)[0])
    except HeaderError:
        return []


def inventory(solutions: list[Solution], root: Path) -> list[Finding]:
    """Whether there are enough of each role, and whether the wrong ones differ in their bug."""
    if not root.is_dir():
        return [fails("solutions", f"{root} does not exist; put solution.py and wrong/*.py there")]
    by_role = {role: [one for one in solutions if one.role == role] for role in ("best", "naive", "wrong")}
    findings = []
    for role, wanted in (("best", Verdict.ACCEPTED), ("naive", Verdict.ACCEPTED)):
        good = [one for one in by_role[role] if one.verdict is wanted]
        if not good:
            findings.append(
                fails("solutions", f"there is no {role} solution that names verdict={wanted.value}")
            )
    wrong = by_role["wrong"]
    bugs = {one.bug for one in wrong}
    cheats = [one for one in wrong if _stem(one.label).startswith("cheat_")]
    if len(wrong) < LEAST_WRONG or len(bugs) < len(wrong):
        findings.append(
            fails("solutions", f"{len(wrong)} wrong ones with {len(bugs)} bugs; {LEAST_WRONG}, all different")
        )
    if len(cheats) < LEAST_CHEATS:
        findings.append(fails("solutions", f"{len(cheats)} named cheat_*; {LEAST_CHEATS} are needed"))
    if any(one.verdict is Verdict.ACCEPTED for one in wrong):
        findings.append(fails("solutions", "one under wrong/ names verdict=accepted"))
    if not findings:
        findings.append(holds("solutions", f"{len(solutions)}, {len(wrong)} of them wrong"))
    has_library = any(one.role == "library" for one in solutions)
    denied = [one.label for one in solutions if one.no_library]
    if has_library and denied:
        findings.append(fails("solutions", f"{denied[0]} says library=none, but there is a library solution"))
    if not has_library and not denied:
        findings.append(
            warning("solutions", "no library.py as a baseline; if no library does it, say library=none")
        )
    return findings


def _stem(label: str) -> str:
    return Path(label).stem


def _notes(path: Path) -> tuple[dict[str, str], str]:
    """What the header says, and the first other comment. Raises HeaderError."""
    try:
        lines = path.read_text("utf-8").splitlines()[:10]
    except UnicodeDecodeError as error:
        raise HeaderError(f"is not UTF-8: {error}") from None
    notes: dict[str, str] = {}
    bug = ""
    for line in lines:
        if match := _NOTE.match(line):
            notes[match[1]] = match[2]
        elif line.startswith(("#", "//")) and not bug:
            bug = line.lstrip("#/ ")
    return notes, bug


def _named(notes: Mapping[str, str]) -> list[str]:
    return [name for name in notes.get("with", "").split(",") if name]


def _solution(path: Path, root: Path) -> Solution:
    notes, bug = _notes(path)
    if unknown := notes.keys() - _KEYS:
        raise HeaderError(f"`solmark: {min(unknown)}=` is unknown; known: {', '.join(sorted(_KEYS))}")
    try:
        verdict = Verdict(notes["verdict"])
        mode = Mode(notes.get("mode", Mode.TEST.value))
        language = Language(notes["language"]) if "language" in notes else None
        reaches = _share(notes["reaches"]) if "reaches" in notes else None
    except KeyError:
        comment = "//" if path.suffix != ".py" else "#"
        raise HeaderError(f"its first ten lines must hold `{comment} solmark: verdict=...`") from None
    except ValueError as error:
        raise HeaderError(str(error)) from None
    role = _role(path)
    if role == "wrong" and not bug:
        raise HeaderError("a comment in its first ten lines must tell its bug")
    files = {notes.get("name", _entry(path, notes)): path.read_bytes()}
    for name in _named(notes):
        other = root / name
        if not other.is_file():
            raise HeaderError(f"with={name}: there is no such file in the folder")
        files[other.name] = other.read_bytes()
    if notes.get("library", "none") != "none":
        raise HeaderError(
            f"library={notes['library']}: only none can be said; a baseline is a file library.py"
        )
    label = path.relative_to(root).as_posix()
    return Solution(label, role, files, verdict, mode, language, bug, reaches, "library" in notes)


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise ValueError(f"reaches={text}; right is a share above 0 and at most 1")
    return share


def _entry(path: Path, notes: Mapping[str, str]) -> str:
    """Alone, a file is the entry under any name; beside others only under this one."""
    return f"solution{path.suffix}" if "with" in notes else path.name


def _role(path: Path) -> Role:
    if path.parent.name == "wrong":
        return "wrong"
    if path.stem == "naive":
        return "naive"
    return "library" if path.stem == "library" else "best"
