"""What a server knows of an assignment: everything that its code computes, evaluated once in a subprocess.

The server reads a manifest and never runs `task.py`. A manifest is derived from a bundle: evaluating it again
changes no digest, so a later version of this program may.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

import grader
from grader.assignment import Assignment
from grader.contract import Language, Sha256
from grader.faults import AssignmentError, Fault
from grader.spec import (
    ForbidSpec,
    MilestoneSpec,
    Model,
    ParamValue,
    PartSpec,
    PointsSpec,
    TargetSpec,
    Title,
    ToleranceSpec,
    Weight,
)

VERSION = 1
MAX_BYTES = 4 << 20
_TIMEOUT_SECONDS = 120.0
_MAX_ERROR_CHARS = 2000


Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ManifestError(ValueError):
    """A manifest that cannot be read, or not by this version; the text says what to change."""


class CaseCost(Model):
    """The cost of one call (see `grader.task.Cost`)."""

    operations: dict[str, Amount]
    dram_bytes: Amount
    link_bytes: Amount
    steps: int = Field(ge=0, le=1 << 53)


class CaseBound(Model):
    """The bound of one call on a committed hardware class, at the rates that scores use."""

    seconds: Amount
    by: str


class ManifestCase(Model):
    """One public case, evaluated."""

    id: str
    part: str
    role: Literal["test", "timed"]
    params: dict[str, ParamValue]
    targets: tuple[str, ...]
    languages: tuple[Language, ...]
    linked: bool
    shapes: dict[str, str]
    """Tensor name to e.g. `float32[257, 1031]`; of rank 0 for a collective; empty for a dialogue."""
    roles: dict[str, str]
    """Tensor name to in, out or inout."""
    tolerance: dict[str, ToleranceSpec]
    cost: CaseCost | None
    """None for a dialogue: its bound comes with each outcome."""
    bounds: dict[str, CaseBound]
    """Hardware class to bound; a CPU is missing: its rates are those of a node, not of a class."""


class Manifest(Model):
    """The evaluated assignment. Of hidden cases it has the number, never a value."""

    version: Literal[1] = 1
    solmark: str
    """Version of the program that evaluated it."""
    digest: Sha256
    """Of the bundle: the dataset version."""
    id: str
    title: Title
    topics: tuple[str, ...]
    weight: Weight
    parts: tuple[PartSpec, ...] = Field(min_length=1)
    targets: tuple[TargetSpec, ...] = Field(min_length=1)
    cases: tuple[ManifestCase, ...]
    hidden_cases: int = Field(ge=0)
    forbid: ForbidSpec
    points: PointsSpec

    @property
    def languages(self) -> tuple[Language, ...]:
        """Every language that some part may be written in, in the order of the contract."""
        offered = {language for part in self.parts for language in part.languages}
        return tuple(language for language in Language if language in offered)

    @property
    def primary(self) -> TargetSpec:
        """The target that counts."""
        return next(target for target in self.targets if target.primary)

    def milestones(self, hardware: str) -> tuple[MilestoneSpec, ...]:
        """The milestones of a target, none if it has none."""
        return next((target.milestones for target in self.targets if target.hardware == hardware), ())


def read(data: bytes | str) -> Manifest:
    """Parse a manifest. Raises ManifestError."""
    if len(data) > MAX_BYTES:
        raise ManifestError(f"manifest: {len(data)} bytes; at most {MAX_BYTES} are read")
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "document"
        raise ManifestError(f"manifest: {place}: {first['msg']}; bundle the assignment again") from error


def disagreements(manifest: Manifest, assignment: Assignment) -> list[str]:
    """Where a manifest is not that of the assignment, as far as plain files tell: all but costs and bounds.

    Each entry names the key. Nothing of the assignment's code runs.
    """
    spec = assignment.spec
    same = ("id", "title", "topics", "weight", "parts", "targets", "forbid", "points")
    found = [key for key in same if getattr(manifest, key) != getattr(spec, key)]
    if manifest.digest != assignment.digest:
        found.append("digest")
    if manifest.hidden_cases != len(assignment.hidden):
        found.append("hidden_cases")
    hardware = tuple(target.hardware for target in spec.targets)
    expected = {case.id: case for case in spec.cases}
    if sorted(case.id for case in manifest.cases) != sorted(expected):
        return [*found, "cases"]
    for case in manifest.cases:
        written = expected[case.id]
        part = spec.part(written.part)
        values: Mapping[str, Any] = {
            "part": written.part,
            "role": written.role,
            "params": written.params,
            "targets": written.targets or hardware,
            "languages": written.languages or (part.languages if part is not None else ()),
            "linked": written.linked,
            "tolerance": written.tolerance,
        }
        found += [f"cases.{case.id}.{key}" for key, value in values.items() if getattr(case, key) != value]
        if not set(case.bounds) <= set(hardware):
            found.append(f"cases.{case.id}.bounds")
    return found


def make(assignment: Assignment) -> Manifest:
    """Evaluate an assignment in a subprocess: costs, bounds, shapes; hidden cases with several seeds.

    Raises AssignmentError with every fault that running `task.py` shows.
    """
    command = [sys.executable, "-m", "grader.evaluate", str(assignment.root)]
    try:
        done = subprocess.run(
            command,
            cwd=Path(grader.__file__).parent.parent,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        wrong = f"evaluating every case took more than {_TIMEOUT_SECONDS:g} s"
        right = "tensors, scalars and cost must be cheap: sizes, not work"
        raise AssignmentError(assignment.id, [Fault("task.py", "", wrong, right)]) from error
    answer = _answer(done, assignment)
    if faults := answer.get("faults"):
        raise AssignmentError(assignment.id, [Fault(**fault) for fault in faults])
    manifest = read(json.dumps(answer["manifest"]))
    if manifest.digest != assignment.digest:
        wrong = "changed while it was being bundled"
        raise AssignmentError(assignment.id, [Fault(".", "", wrong, "bundle it again")])
    return manifest


def _answer(done: subprocess.CompletedProcess[bytes], assignment: Assignment) -> Mapping[str, Any]:
    # The answer is the last line: an assignment's own code may print before it.
    lines = done.stdout.splitlines()
    try:
        answer = json.loads(lines[-1]) if done.returncode == 0 and lines else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        printed = done.stderr.decode("utf-8", "replace").strip()[-_MAX_ERROR_CHARS:]
        wrong = f"the process that ran it ended with status {done.returncode}"
        raise AssignmentError(assignment.id, [Fault("task.py", "", wrong, printed)])
    return answer
