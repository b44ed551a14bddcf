"""Runs an assignment's code over all its cases and prints the manifest, or the faults, as one line of JSON.

`python -m grader.evaluate <folder>`: a process of its own, because the server must not run `task.py`.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader import assignment as assignments
from grader import sol, taskfile
from grader.assignment import Assignment
from grader.faults import AssignmentError, Fault, near
from grader.hardware import profile
from grader.manifest import CaseBound, CaseCost, Manifest, ManifestCase
from grader.spec import CaseSpec
from grader.task import (
    ITEM_BYTES,
    BlobRegion,
    Case,
    CollectiveTask,
    Cost,
    DialogueTask,
    FunctionTask,
    Part,
    Tensor,
)

UNITS = (
    "tensor_bf16",
    "tensor_fp16",
    "tensor_tf32",
    "tensor_fp8",
    "tensor_fp4",
    "tensor_int8",
    "fp32",
    "fp16",
    "int32",
    "special",
)
"""Units that a cost may count and a hardware profile may rate."""

_HIDDEN_DRAWS = 8
_MAX_SLOT_BYTES = 64 << 30
_MAX_DIMENSIONS = 8
_ROLES = ("in", "inout", "out")


def evaluate(assignment: Assignment) -> Manifest:
    """The manifest. Runs `task.py` in this process. Raises AssignmentError with all faults of all cases."""
    spec, parts = assignment.spec, assignment.parts()
    faults: list[Fault] = []
    cases: list[ManifestCase] = []
    for case_spec, case in _public(assignment):
        evaluated, case_faults = _evaluate(assignment, case_spec, case, parts[case.part])
        faults += case_faults
        if evaluated is not None:
            cases.append(evaluated)
    seen = set(faults)
    for case_spec, case in _hidden(assignment):
        _, case_faults = _evaluate(assignment, case_spec, case, parts[case.part])
        faults += [fault for fault in case_faults if fault not in seen]
        seen.update(case_faults)
    if faults:
        raise AssignmentError(assignment.id, faults)
    return Manifest(
        solmark=_version(),
        digest=assignment.digest,
        id=spec.id,
        title=spec.title,
        topics=spec.topics,
        weight=spec.weight,
        parts=spec.parts,
        targets=spec.targets,
        cases=tuple(cases),
        hidden_cases=len(assignment.hidden),
        forbid=spec.forbid,
        points=spec.points,
    )


def _public(assignment: Assignment) -> Iterator[tuple[CaseSpec, Case]]:
    specs = {case.id: case for case in assignment.spec.cases}
    yield from _cases(assignment, specs, bytes(assignments.SEED_BYTES), "public")


def _hidden(assignment: Assignment) -> Iterator[tuple[CaseSpec, Case]]:
    specs = {case.id: case for case in assignment.hidden}
    for draw in range(_HIDDEN_DRAWS if specs else 0):
        seed = hashlib.sha256(f"{assignment.digest} {draw}".encode()).digest()
        yield from _cases(assignment, specs, seed, "hidden")


def _cases(
    assignment: Assignment, specs: Mapping[str, CaseSpec], seed: bytes, visibility: str
) -> Iterator[tuple[CaseSpec, Case]]:
    """Each case once, whatever number of targets it is for."""
    seen: set[str] = set()
    for target in assignment.spec.targets:
        for case in assignment.cases(target.hardware, seed):
            if case.visibility == visibility and case.id not in seen:
                seen.add(case.id)
                yield specs[case.id], case


def _evaluate(
    assignment: Assignment, spec: CaseSpec, case: Case, part: Part
) -> tuple[ManifestCase | None, list[Fault]]:
    """One case evaluated, and its faults; each names the case and the parameters that show it."""
    place = f"case {case.id!r}"
    if case.visibility == "hidden":
        place += f" {dict(case.params)}"
    try:
        tensors, cost, problems = _work(part, case)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an assignment's code raises is its fault
        return None, [taskfile.raised(error, assignment.root, f"{place} raised")]
    faults = [Fault(taskfile.FILE, place, *problem) for problem in problems]
    file = assignments.HIDDEN if case.visibility == "hidden" else assignments.FILE
    faults += _tolerance_faults(spec, file, tensors, part)
    if faults:
        return None, faults
    targets = spec.targets or tuple(target.hardware for target in assignment.spec.targets)
    bounds: dict[str, CaseBound] = {}
    if cost is not None and case.role == "timed":
        bounds, bound_faults = _bounds(cost, targets, linked=case.linked, place=place)
        faults += bound_faults
    declared = assignment.spec.part(case.part)
    languages = spec.languages or (declared.languages if declared is not None else ())
    evaluated = ManifestCase(
        id=case.id,
        part=case.part,
        role=case.role,
        params=dict(case.params),
        targets=targets,
        languages=languages,
        linked=case.linked,
        shapes={tensor.name: tensor.describe() for tensor in tensors},
        roles={tensor.name: tensor.role for tensor in tensors},
        tolerance=spec.tolerance,
        cost=None if cost is None else CaseCost(**{**asdict(cost), "operations": dict(cost.operations)}),
        bounds=bounds,
    )
    return evaluated, faults


Problem = tuple[str, str]


def _work(part: Part, case: Case) -> tuple[Sequence[Tensor], Cost | None, list[Problem]]:
    """Tensors and cost of one call as the task gives them, and what is wrong with them."""
    match part:
        case FunctionTask():
            tensors: Sequence[Tensor] = tuple(part.tensors(case.params))
            scalars = dict(part.scalars(case.params))
            cost = part.cost(case.params)
        case CollectiveTask():
            ranks = part.ranks(case.params)
            if not isinstance(ranks, int) or ranks < 1:
                return (), None, [(f"ranks gave {ranks!r}", "right is an integer from 1 up")]
            by_rank = [tuple(part.tensors(case.params, rank)) for rank in range(ranks)]
            problems = [problem for tensors in by_rank[1:] for problem in tensor_problems(tensors)]
            tensors = by_rank[0]
            scalars = dict(part.scalars(case.params, 0))
            cost = part.cost(case.params)
            return tensors, cost, [*problems, *tensor_problems(tensors), *_cost_problems(cost, case)]
        case DialogueTask():
            return (), None, _region_problems(part.regions(case.params))
    problems = [*tensor_problems(tensors), *_scalar_problems(scalars, tensors), *_cost_problems(cost, case)]
    return tensors, cost, problems


def tensor_problems(tensors: Sequence[Tensor]) -> list[Problem]:
    """What is wrong with the arguments of a call: order, names, shapes, layouts, aliases, counts."""
    if not tensors or not all(isinstance(tensor, Tensor) for tensor in tensors):
        return [("tensors gave no tensors", "return a sequence of grader.task.Tensor")]
    problems: list[Problem] = []
    names = [tensor.name for tensor in tensors]
    if len(set(names)) != len(names):
        problems.append((f"tensors {', '.join(names)}: a name occurs twice", "each must be unique"))
    if [tensor.role for tensor in tensors] != sorted(
        (tensor.role for tensor in tensors), key=lambda role: _ROLES.index(role) if role in _ROLES else 0
    ):
        problems.append(("the tensors are out of order", "inputs come first, then inouts, then outputs"))
    if all(tensor.role == "in" for tensor in tensors):
        problems.append(("no tensor is written", 'give one the role "out" or "inout"'))
    for tensor in tensors:
        problems += _one_tensor(tensor, tensors)
    total = sum(tensor.span_bytes for tensor in tensors) if not problems else 0
    if total > _MAX_SLOT_BYTES:
        problems.append((f"one call takes {total} bytes", f"at most {_MAX_SLOT_BYTES} are possible"))
    return problems


def _one_tensor(tensor: Tensor, tensors: Sequence[Tensor]) -> Iterator[Problem]:
    where = f"tensor {tensor.name!r}"
    if not str(tensor.name).isidentifier():
        yield f"{where} has no name that a program could use", "right is a name like x"
    if tensor.dtype not in ITEM_BYTES:
        yield f"{where} has dtype {tensor.dtype!r}", near(str(tensor.dtype), ITEM_BYTES)
        return
    if tensor.role not in _ROLES:
        yield f"{where} has role {tensor.role!r}", near(str(tensor.role), _ROLES)
    sizes = (*tensor.shape, tensor.offset, *(tensor.strides or ()))
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
        yield f"{where} has shape {tensor.shape}, strides {tensor.strides}", "all are integers from 0 up"
        return
    if len(tensor.shape) > _MAX_DIMENSIONS:
        yield f"{where} has {len(tensor.shape)} dimensions", f"at most {_MAX_DIMENSIONS} are possible"
    if tensor.strides is not None and len(tensor.strides) != len(tensor.shape):
        yield f"{where} has {len(tensor.strides)} strides", f"right is {len(tensor.shape)}, one a dimension"
    elif tensor.role != "in" and not _is_injective(tensor):
        yield f"{where} is written, but elements of it may share memory", "give it larger strides"
    inputs = [other.name for other in tensors if other.role == "in" and other.name != tensor.name]
    if tensor.alias_of is not None and (tensor.role != "in" or tensor.alias_of not in inputs):
        yield f"{where} is an alias of {tensor.alias_of!r}", "an input may be an alias of another input"
    counts = [other.name for other in tensors if other.role == "out" and other.dtype == "int64"
              and other.elements == 1]  # fmt: skip
    if tensor.count is not None and (tensor.role != "out" or tensor.count not in counts):
        yield f"{where} is counted by {tensor.count!r}", "name an int64 output of one element"


def _is_injective(tensor: Tensor) -> bool:
    """Whether no two elements share memory, by the usual sufficient test: sorted strides nest."""
    reach = 0
    for stride, size in sorted(zip(tensor.effective_strides, tensor.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return False
            reach += (size - 1) * stride
    return True


def _scalar_problems(scalars: Mapping[str, object], tensors: Sequence[Tensor]) -> Iterator[Problem]:
    names = {tensor.name for tensor in tensors}
    for name, value in scalars.items():
        if not str(name).isidentifier() or name in names:
            yield f"scalar {name!r} has no name of its own", "right is a name that no tensor has"
        if not isinstance(value, bool | int | float):
            yield f"scalar {name!r} is {taskfile.describe(value)}", "right is a boolean or a number"
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            yield f"scalar {name!r} is {value}", "right is a number of at most 64 bits"


def _cost_problems(cost: object, case: Case) -> list[Problem]:
    if not isinstance(cost, Cost):
        return [(f"cost gave {taskfile.describe(cost)}", "right is a grader.task.Cost")]
    problems = [
        (f"cost counts the unit {unit!r}", near(str(unit), UNITS))
        for unit in cost.operations
        if unit not in UNITS
    ]
    amounts = {
        **cost.operations,
        "dram_bytes": cost.dram_bytes,
        "link_bytes": cost.link_bytes,
        "steps": cost.steps,
    }
    for name, amount in amounts.items():
        number = isinstance(amount, int | float) and not isinstance(amount, bool)
        if not number or not math.isfinite(amount) or amount < 0:
            problems.append((f"cost: {name} is {amount!r}", "right is a finite number from 0 up"))
    if not problems and case.role == "timed" and not any(amounts.values()):
        problems.append(
            ("the cost of a timed case is zero", "count the bytes and operations it cannot avoid")
        )
    if not problems and case.linked and cost.steps < 1:
        problems.append(("a linked case has no steps", "cost.steps counts launches that cannot overlap"))
    return problems


def _region_problems(regions: Sequence[BlobRegion]) -> list[Problem]:
    problems = []
    names = [region.name for region in regions]
    if len(set(names)) != len(names):
        problems.append((f"regions {', '.join(names)}: a name occurs twice", "each must be unique"))
    for region in regions:
        if region.dtype not in ITEM_BYTES:
            problems.append(
                (f"region {region.name!r} has dtype {region.dtype!r}", near(region.dtype, ITEM_BYTES))
            )
        elif not 0 < region.max_elements * ITEM_BYTES[region.dtype] <= _MAX_SLOT_BYTES:
            problems.append(
                (f"region {region.name!r} has {region.max_elements} elements", "right is 1 or more")
            )
    return problems


def _tolerance_faults(spec: CaseSpec, file: str, tensors: Sequence[Tensor], part: Part) -> list[Fault]:
    """Tolerances of outputs that do not exist. An output without one must be met exactly."""
    key = f'cases["{spec.id}"].tolerance'
    if isinstance(part, DialogueTask):
        return (
            [Fault(file, key, "a dialogue judges its answers itself", "remove it")] if spec.tolerance else []
        )
    known = [*(tensor.name for tensor in tensors if tensor.role != "in"), "*"]
    return [
        Fault(file, f"{key}.{name}", "there is no such output", near(name, known))
        for name in spec.tolerance
        if name not in known
    ]


def _bounds(
    cost: Cost, targets: Sequence[str], *, linked: bool, place: str
) -> tuple[dict[str, CaseBound], list[Fault]]:
    """Bounds on the targets that have datasheet rates; a class that lacks a needed rate is a fault."""
    bounds: dict[str, CaseBound] = {}
    faults: list[Fault] = []
    for target in targets:
        hardware = profile.datasheet(target)
        if hardware.kind == "cpu":
            continue
        try:
            found = sol.bound(cost, hardware, linked=linked)
        except sol.SolError as error:
            faults.append(Fault(taskfile.FILE, place, str(error)))
        else:
            bounds[target] = CaseBound(seconds=found.seconds, by=found.by)
    return bounds, faults


def _version() -> str:
    try:
        return version("solmark")
    except PackageNotFoundError:  # Run from a source tree that was never installed.
        return "source"


def main(arguments: Sequence[str]) -> int:
    """Evaluate one folder, print one line, return 0; a line of faults is an answer too."""
    (folder,) = arguments
    try:
        manifest = evaluate(assignments.load(Path(folder)))
        answer: object = {"manifest": manifest.model_dump(mode="json")}
    except AssignmentError as error:
        answer = {"faults": [asdict(fault) for fault in error.faults]}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
