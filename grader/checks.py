"""Rules that one field alone cannot show: names that must exist, limits that make sense, measured milestones.

Each function returns the faults it finds; none raises.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from grader.contract import JobLimits, Language
from grader.dialects import DIALECTS
from grader.faults import Fault, near
from grader.hardware import profile
from grader.repair import UNKNOWN_ID
from grader.spec import CaseSpec, ParamValue, Spec, TargetSpec, is_drawn

TOML = "assignment.toml"
MIB = 1 << 20

LIMIT_RANGES: Mapping[str, tuple[float, float, str]] = {
    "wall_seconds": (1, 600, "seconds"),
    "cpu_seconds": (1, 3600, "seconds"),
    "memory_bytes": (256 * MIB, 1 << 40, "bytes"),
    "processes": (8, 4096, "processes and threads"),
    "output_bytes": (0, 64 * MIB, "bytes"),
    "build_seconds": (1, 600, "seconds"),
    "warm_up_seconds": (1, 300, "seconds"),
}
"""Smallest and largest sane value of each limit: a typing error must not hold a node for hours."""


def file_faults(names: Sequence[str]) -> list[Fault]:
    """Files that every assignment needs."""
    faults = [
        Fault(name, "", "is missing", right)
        for name, right in (
            (TOML, "every assignment is described by one"),
            ("task.py", "it defines PARTS"),
            ("README.md", "the assignment's page in English"),
            ("README.zh.md", "the assignment's page in Chinese"),
        )
        if name not in names
    ]
    if not any(name.startswith("starter/") for name in names):
        faults.append(Fault("starter", "", "is missing or empty", "give students a file to start from"))
    allowed = {TOML, "task.py", "adapter.py", "README.md", "README.zh.md"}
    for name in names:
        top, _, rest = name.partition("/")
        if rest and top not in ("starter", "hidden", "figures"):
            faults.append(Fault(name, "", "is in an unknown folder", "use starter/, hidden/ or figures/"))
        elif not rest and top not in allowed and not top.endswith(".py"):
            faults.append(Fault(name, "", "is an unknown file", near(top, allowed)))
    if any(name.startswith("hidden/") for name in names) and "hidden/cases.toml" not in names:
        faults.append(Fault("hidden/cases.toml", "", "is missing", "hidden/ needs its [[cases]]"))
    return faults


def spec_faults(spec: Spec, file: str, *, complete: bool = True) -> list[Fault]:
    """Parts, targets and points. What is missing as a whole is told only of a complete spec."""
    faults = [
        *_twice(file, "parts", "name", [part.name for part in spec.parts]),
        *_twice(file, "targets", "hardware", [target.hardware for target in spec.targets]),
        *(fault for target in spec.targets for fault in _target_faults(spec, target, file)),
        *_part_faults(spec, file),
    ]
    total = spec.points.correctness + spec.points.performance
    if not math.isclose(total, 1.0, abs_tol=1e-9):
        faults.append(Fault(file, "points", f"the shares add up to {total:g}", "they must add up to 1"))
    if not complete:
        return faults
    primaries = [target.hardware for target in spec.targets if target.primary]
    if len(primaries) != 1:
        wrong = f"{len(primaries)} targets are primary" if primaries else "no target is primary"
        faults.append(Fault(file, "targets", wrong, "exactly one has primary = true"))
    for target in spec.targets:
        faults += _coverage_faults(spec, target, file)
    return faults


def _part_faults(spec: Spec, file: str) -> list[Fault]:
    """Dialogues are answered in Python: from the entry file, or from a file of their own."""
    faults = []
    for part in spec.parts:
        key = f'parts["{part.name}"]'
        if part.file is not None and part.kind != "dialogue":
            wrong = f"a {part.kind} is in the entry file"
            faults.append(Fault(file, f"{key}.file", wrong, "remove it: only a dialogue may have one"))
        others = [
            language.value
            for language in part.languages
            if language is not Language.PYTHON and (part.file is not None or language is not Language.TRITON)
        ]
        if part.kind == "dialogue" and others:
            wrong = f"a dialogue cannot be answered in {', '.join(others)}"
            faults.append(Fault(file, f"{key}.languages", wrong, 'right is ["python"]'))
    if all(part.file is not None for part in spec.parts):
        right = "leave out the file of one: it is in the entry file"
        faults.append(Fault(file, "parts", "every part has a file of its own", right))
    return faults


def _target_faults(spec: Spec, target: TargetSpec, file: str) -> list[Fault]:
    key = f'targets["{target.hardware}"]'
    faults = []
    try:
        base, devices = profile.split(target.hardware)
        known = base in profile.classes()
    except profile.HardwareError:
        base, devices, known = target.hardware, 1, False
    if not known:
        right = near(base, profile.classes())
        faults.append(Fault(file, f"{key}.hardware", "there is no such hardware class", right))
    elif target.devices != devices:
        wrong = f"{target.devices} devices, but the class {target.hardware} has {devices}"
        faults.append(Fault(file, f"{key}.devices", wrong, f"right is {devices}"))
    offered = {language for part in spec.parts for language in part.languages}
    for language in target.languages:
        if language not in offered:
            wrong = f"no part is written in {language.value}"
            faults.append(Fault(file, f"{key}.languages", wrong, near(language.value, offered)))
    for language in target.languages if base == "cpu" else ():
        dialect = DIALECTS.get(language)
        if language is Language.CUDA or (dialect is not None and dialect.interpreted is None):
            wrong = f"a CPU cannot run {language.value}"
            faults.append(Fault(file, f"{key}.languages", wrong, f"remove {language.value}"))
    return faults + _limit_faults(target.limits, f"{key}.limits", file) + _curve_faults(target, key, file)


def _limit_faults(limits: JobLimits, key: str, file: str) -> list[Fault]:
    faults = []
    for name, (low, high, unit) in LIMIT_RANGES.items():
        value = getattr(limits, name)
        if value is not None and not low <= value <= high:
            wrong = f"{value:g} is not sane"
            faults.append(Fault(file, f"{key}.{name}", wrong, f"right is {low:g} to {high:g} {unit}"))
    return faults


def _curve_faults(target: TargetSpec, key: str, file: str) -> list[Fault]:
    milestones = target.milestones
    if not milestones:
        return []
    if len(milestones) == 1:
        return [Fault(file, f"{key}.milestones", "a curve needs at least two", "add one, or remove it")]
    faults = _twice(file, f"{key}.milestones", "name", [milestone.name for milestone in milestones])
    for left, right in pairwise(milestones):
        place = f'{key}.milestones["{right.name}"]'
        if right.fraction <= left.fraction:
            wrong = f"{right.fraction:g} does not lie above {left.fraction:g} of {left.name!r}"
            faults.append(Fault(file, f"{place}.fraction", wrong, "milestones ascend in fraction"))
        if right.credit < left.credit:
            wrong = f"{right.credit:g} lies below {left.credit:g} of {left.name!r}"
            faults.append(Fault(file, f"{place}.credit", wrong, "credit never falls"))
    return faults


def _coverage_faults(spec: Spec, target: TargetSpec, file: str) -> list[Fault]:
    """A target without a public test of each part, or without a timed case where speed earns points."""
    meant = [case for case in spec.cases if not case.targets or target.hardware in case.targets]
    key = f'targets["{target.hardware}"]'
    faults = []
    for part in spec.parts:
        if not any(case.part == part.name and case.role == "test" for case in meant):
            wrong = f"part {part.name!r} has no public test here"
            faults.append(Fault(file, key, wrong, 'add a case with role = "test"'))
    if spec.points.performance > 0 and not any(case.role == "timed" for case in meant):
        right = 'add a case with role = "timed", or set points.performance = 0'
        faults.append(Fault(file, key, "there is no timed case here", right))
    return faults


def case_faults(
    spec: Spec, cases: Sequence[CaseSpec], file: str, visibility: Literal["public", "hidden"]
) -> list[Fault]:
    """Cases of one file, held against parts and targets."""
    return [fault for case in cases for fault in _one_case(spec, case, file, visibility)]


def _one_case(spec: Spec, case: CaseSpec, file: str, visibility: Literal["public", "hidden"]) -> list[Fault]:
    key = f'cases["{case.id}"]'
    faults = []
    if case.visibility not in (None, visibility):
        why = "students receive this file" if visibility == "public" else "only hidden cases live here"
        other = "hidden/cases.toml" if visibility == "public" else TOML
        faults.append(
            Fault(file, f"{key}.visibility", f"is {case.visibility}, but {why}", f"move it to {other}")
        )
    if visibility == "hidden" and case.role == "timed":
        right = "timed cases have fixed shapes and show their times: move it to assignment.toml"
        faults.append(Fault(file, f"{key}.role", "a hidden case cannot be timed", right))
    part = spec.part(case.part)
    if part is None:
        right = near(case.part, [known.name for known in spec.parts])
        faults.append(Fault(file, f"{key}.part", f"there is no part {case.part!r}", right))
    else:
        for language in case.languages:
            if language not in part.languages:
                wrong = f"part {part.name!r} is not written in {language.value}"
                faults.append(Fault(file, f"{key}.languages", wrong, near(language.value, part.languages)))
    targets = [target.hardware for target in spec.targets]
    faults += [
        Fault(file, f"{key}.targets", f"there is no target {name!r}", near(name, targets))
        for name in case.targets
        if name not in targets
    ]
    if case.linked and case.role != "timed":
        faults.append(Fault(file, f"{key}.linked", "only timed cases are linked", "remove it"))
    for name, value in case.params.items():
        faults += _param_faults(value, f"{key}.params.{name}", file, visibility)
    return faults


def _param_faults(
    value: ParamValue, key: str, file: str, visibility: Literal["public", "hidden"]
) -> list[Fault]:
    if is_drawn(value):
        if visibility == "public":
            right = "give one value; only hidden cases are drawn"
            return [Fault(file, key, "a public or timed case has fixed parameters", right)]
        return _drawn_faults(value, key, file)
    return _value_faults(value, key, file)


def _drawn_faults(value: Mapping[str, Any], key: str, file: str) -> list[Fault]:
    if set(value) == {"range"}:
        ends = value["range"]
        whole = isinstance(ends, list) and all(
            isinstance(end, int) and not isinstance(end, bool) for end in ends
        )
        if not whole or len(ends) != 2:
            return [Fault(file, key, f"range = {ends!r}", "right is two integers: { range = [1, 300] }")]
        if ends[0] >= ends[1]:
            return [
                Fault(file, key, f"range = {ends!r} is empty or a single value", "the first is the smaller")
            ]
        return []
    if set(value) == {"choice"}:
        choices = value["choice"]
        if not isinstance(choices, list) or len(choices) < 2:
            return [Fault(file, key, f"choice = {choices!r}", "right is a list of at least two values")]
        return _value_faults(choices, key, file)
    extra = next((name for name in value if name not in ("range", "choice")), None)
    right = near(extra, ["range", "choice"]) if extra else "give range or choice, not both"
    return [Fault(file, key, f"a table with {', '.join(value) or 'nothing'}", right)]


def _value_faults(value: object, key: str, file: str) -> list[Fault]:
    if isinstance(value, list):
        return [fault for item in value for fault in _value_faults(item, key, file)]
    if isinstance(value, float) and not math.isfinite(value):
        return [Fault(file, key, f"{value} is not finite", "right is a finite number")]
    if isinstance(value, bool | int | float | str):
        return []
    return [Fault(file, key, f"a {type(value).__name__}", "right is a number, a string, a boolean or a list")]


def id_faults(spec: Spec, hidden: Sequence[CaseSpec], root: Path) -> list[Fault]:
    """Ids that occur twice, and an id that is not the folder's name."""
    public = [case.id for case in spec.cases]
    faults = _twice(TOML, "cases", "id", public)
    faults += _twice("hidden/cases.toml", "cases", "id", [case.id for case in hidden])
    for case in hidden:
        if case.id in public:
            wrong = "a public case has this id too"
            faults.append(Fault("hidden/cases.toml", f'cases["{case.id}"].id', wrong, "rename one of them"))
    if root.parent.parent.name == "assignments":
        folder = f"{root.parent.name}/{root.name}"
        if spec.id not in (folder, UNKNOWN_ID):  # That one stands in for an id with a fault of its own.
            faults.append(
                Fault(TOML, "id", f"is {spec.id!r}, but the folder is {folder!r}", "make them equal")
            )
    return faults


def no_target(hardware: str, spec: Spec) -> Fault:
    """The fault of a grading on a hardware class that is no target."""
    right = near(hardware, [target.hardware for target in spec.targets])
    return Fault(TOML, "targets", f"this assignment has no target {hardware!r}", right)


def _twice(file: str, section: str, field: str, names: Iterable[str]) -> list[Fault]:
    return [
        Fault(file, f'{section}["{name}"].{field}', f"occurs {count} times", "each must be unique")
        for name, count in Counter(names).items()
        if count > 1
    ]
