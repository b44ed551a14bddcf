"""An assignment folder: found, read, validated, and turned into the cases of one grading.

Reading never runs the assignment's code; `Assignment.parts` does, and only the judge (or a subprocess that
evaluates a manifest) calls it.
"""

import codecs
import difflib
import hashlib
import json
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

from grader import archive, checks, milestones, repair, taskfile
from grader.contract import Language
from grader.faults import AssignmentError, Fault, from_dates, from_validation
from grader.spec import CaseSpec, HiddenSpec, ParamValue, Spec, TargetSpec, is_drawn
from grader.task import Case, Parts, Tolerance

__all__ = ["Assignment", "AssignmentError", "Fault", "find", "load"]

FILE = "assignment.toml"
HIDDEN = "hidden/cases.toml"
SEED_BYTES = 16
_MAX_TOML_BYTES = 1 << 20
_CHECKOUT = Path(__file__).parent.parent / "assignments"

Checked = TypeVar("Checked", bound=BaseModel)


@dataclass(frozen=True)
class Assignment:
    """A valid assignment folder. `digest` names its exact content: the dataset version."""

    root: Path
    spec: Spec
    hidden: tuple[CaseSpec, ...]
    """Empty in a student's copy."""
    digest: str

    @property
    def id(self) -> str:
        """Track and slug, for instance `kernels/add-rmsnorm`."""
        return self.spec.id

    @property
    def has_hidden(self) -> bool:
        """Whether the hidden cases are here; a student's copy grades without them."""
        return bool(self.hidden)

    def target(self, hardware: str) -> TargetSpec:
        """The target of a hardware class. Raises AssignmentError if the assignment has none."""
        target = self.spec.target(hardware)
        if target is None:
            raise AssignmentError(self.id, [checks.no_target(hardware, self.spec)])
        return target

    def cases(self, hardware: str, seed: bytes, language: Language | None = None) -> list[Case]:
        """The cases of one grading: public tests, timed ones, hidden ones, hidden ranges drawn from the seed.

        The same seed (16 to 64 bytes) gives the same cases. A language keeps only the cases meant for it.
        Raises AssignmentError for a hardware class that is no target.
        """
        if not SEED_BYTES <= len(seed) <= 64:
            raise ValueError(f"a seed of {len(seed)} bytes; {SEED_BYTES} to 64 are needed")
        target = self.target(hardware)
        tests = [case for case in self.spec.cases if case.role == "test"]
        timed = [case for case in self.spec.cases if case.role == "timed"]
        return [
            _fixed(case, visibility, seed)
            for visibility, group in _grouped(tests + timed, self.hidden)
            for case in group
            if self._is_meant(case, target, language)
        ]

    def parts(self) -> Parts:
        """The parts that `task.py` defines. Runs that file: trusted code of the course's staff.

        Raises AssignmentError with file and line where it fails, or where it does not match `[[parts]]`.
        """
        return self._parts

    @cached_property
    def _parts(self) -> Parts:
        return taskfile.load(self.root, self.spec, self.digest)

    def adapter(self) -> bytes | None:
        """Content of `adapter.py`, None if there is none. It runs in the sandbox, never here."""
        path = self.root / "adapter.py"
        return path.read_bytes() if path.is_file() else None

    def readme(self, language: Literal["en", "zh"] = "en") -> str:
        """The assignment's page in markdown."""
        name = "README.md" if language == "en" else "README.zh.md"
        return (self.root / name).read_text("utf-8")

    def _is_meant(self, case: CaseSpec, target: TargetSpec, language: Language | None) -> bool:
        if case.targets and target.hardware not in case.targets:
            return False
        part = self.spec.part(case.part)
        if part is not None and part.file is not None:
            return True  # It is in Python, whatever the entry file is in.
        languages = case.languages or (part.languages if part is not None else ())
        return language is None or language in languages


def find(name: str | Path) -> Path:
    """The folder of an assignment, given its id, its slug, its folder or its `assignment.toml`.

    Ids are looked for in `./assignments`, `$SOLMARK_ASSIGNMENTS` and the checkout's `assignments`. Raises
    AssignmentError that names the nearest ids.
    """
    path = Path(name)
    if path.name == FILE and path.is_file():
        return path.parent.resolve()
    if (path / FILE).is_file():
        return path.resolve()
    known = available()
    text = str(name).strip("/")
    matches = [known[text]] if text in known else [known[id_] for id_ in known if id_.endswith(f"/{text}")]
    if len(matches) == 1:
        return matches[0]
    if path.is_dir():
        raise AssignmentError(
            str(name), [Fault(FILE, "", "is missing", "a folder with assignment.toml is needed")]
        )
    # By slugs: most ids share the name of their track, which would make any two look alike.
    slugs = {id_.partition("/")[2]: id_ for id_ in known}
    close = difflib.get_close_matches(text.rpartition("/")[2], slugs, n=3, cutoff=0.5)
    ids = [slugs[match] for match in close] or sorted(known)
    right = f"did you mean {' or '.join(ids)}?" if close else f"there are: {', '.join(ids) or 'none'}"
    raise AssignmentError(str(name), [Fault("", "", "no such assignment was found", right)])


def roots() -> list[Path]:
    """The search path: `./assignments`, `$SOLMARK_ASSIGNMENTS`, the checkout's `assignments`."""
    configured = os.environ.get("SOLMARK_ASSIGNMENTS", "").split(os.pathsep)
    return [Path("assignments"), *(Path(root) for root in configured if root), _CHECKOUT]


def available() -> dict[str, Path]:
    """Folders of all assignments in the search path by id; the first found wins."""
    found: dict[str, Path] = {}
    for root in roots():
        for file in sorted(root.glob(f"*/*/{FILE}")):
            found.setdefault(f"{file.parent.parent.name}/{file.parent.name}", file.parent.resolve())
    return found


def load(path: str | Path) -> Assignment:
    """Read and validate a folder without running its code.

    Raises AssignmentError with every fault found: the file, the key, what is wrong, what would be right.
    """
    root = Path(path).resolve()
    if not root.is_dir():
        raise AssignmentError(str(path), [Fault(FILE, "", "the folder does not exist")])
    names, faults = archive.members(root)
    faults += checks.file_faults(names)
    spec, spec_faults = _read(root, FILE, Spec)
    faults += spec_faults
    hidden: HiddenSpec | None = None
    if (root / HIDDEN).is_file():
        hidden, hidden_faults = _read(root, HIDDEN, HiddenSpec)
        faults += hidden_faults
    if spec is not None:
        faults += checks.spec_faults(spec, FILE, complete=not spec_faults)
        faults += checks.case_faults(spec, spec.cases, FILE, "public")
        faults += checks.case_faults(spec, hidden.cases if hidden else (), HIDDEN, "hidden")
        faults += checks.id_faults(spec, hidden.cases if hidden else (), root)
        faults += milestones.faults(spec, root)
    if faults or spec is None:
        raise AssignmentError(str(path), faults)
    packed = archive.pack(archive.collect(root, names))
    return Assignment(root, spec, hidden.cases if hidden else (), archive.digest(packed))


def _read(root: Path, name: str, model: type[Checked]) -> tuple[Checked | None, list[Fault]]:
    """Parse one TOML file. Of a faulty one, what is right in it is returned, to be checked further."""
    try:
        content = (root / name).read_bytes()
        if len(content) > _MAX_TOML_BYTES:
            return None, [Fault(name, "", f"{len(content)} bytes; at most {_MAX_TOML_BYTES} are read")]
        if content.startswith(codecs.BOM_UTF8):
            return None, [Fault(name, "", "begins with a byte order mark", "save it as UTF-8 without one")]
        document = tomllib.loads(content.decode("utf-8"))
    except FileNotFoundError:
        return None, []  # `file_faults` has said so.
    except OSError as error:
        return None, [Fault(name, "", f"cannot be read: {error.strerror}", "a plain file is needed")]
    except UnicodeDecodeError as error:
        return None, [Fault(name, "", f"cannot be read: {error}", "save it as UTF-8")]
    except (ValueError, RecursionError) as error:
        return None, [Fault(name, "", f"is not TOML: {error}")]
    try:
        json.dumps(document, default=str)
    except (ValueError, RecursionError) as error:  # An integer of thousands of digits, for instance.
        return None, [Fault(name, "", f"has a value that JSON has not: {error}")]
    try:
        return repair.validate(model, document), from_dates(document, name)
    except ValidationError as error:
        faults = from_validation(error, model, name, document)
        return repair.salvage(model, document), faults + from_dates(document, name)


def _grouped(
    public: Sequence[CaseSpec], hidden: Sequence[CaseSpec]
) -> list[tuple[Literal["public", "hidden"], Sequence[CaseSpec]]]:
    return [("public", public), ("hidden", hidden)]


def _fixed(case: CaseSpec, visibility: Literal["public", "hidden"], seed: bytes) -> Case:
    return Case(
        id=case.id,
        part=case.part,
        visibility=visibility,
        role=case.role,
        params={name: _draw(value, case.id, name, seed) for name, value in case.params.items()},
        linked=case.linked,
        tolerance={
            output: Tolerance(limits.worst_row, limits.mean_row, limits.worst_element)
            for output, limits in case.tolerance.items()
        },
    )


def _draw(value: ParamValue, case: str, name: str, seed: bytes) -> ParamValue:
    if not is_drawn(value):
        return value
    number = int.from_bytes(hashlib.blake2b(f"{case}\0{name}".encode(), key=seed, digest_size=16).digest())
    if "choice" in value:
        return value["choice"][number % len(value["choice"])]
    low, high = value["range"]
    return low + number % (high - low + 1)
