"""Runs an assignment's code over all its cases and prints the manifest, or the faults, as one line of JSON.

`python -m grader.evaluate <folder>`: a process of its own, because the server must not run `task.py`.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader import assignment as assignments
from grader import sol, taskfile
from grader.assignment import Assignment
from grader.callcheck import (
    Problem,
    budget_problems,
    cost_problems,
    region_problems,
    scalar_problems,
    tensor_problems,
)
from grader.faults import AssignmentError, Fault, near
from grader.hardware import profile
from grader.manifest import CaseBound, CaseCost, Manifest, ManifestCase
from grader.spec import CaseSpec
from grader.task import (
    Case,
    CollectiveTask,
    Cost,
    DialogueTask,
    FunctionTask,
    Part,
    Tensor,
)

_HIDDEN_DRAWS = 8


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


def _work(part: Part, case: Case) -> tuple[Sequence[Tensor], Cost | None, list[Problem]]:
    """Tensors and cost of one call as the task gives them, and what is wrong with them."""
    match part:
        case FunctionTask():
            tensors: Sequence[Tensor] = tuple(part.tensors(case.params))
            scalars = dict(part.scalars(case.params))
            cost = part.cost(case.params)
            problems = []
        case CollectiveTask():
            ranks = part.ranks(case.params)
            if not isinstance(ranks, int) or ranks < 1:
                return (), None, [(f"ranks gave {ranks!r}", "right is an integer from 1 up")]
            by_rank = [tuple(part.tensors(case.params, rank)) for rank in range(ranks)]
            problems = [problem for tensors in by_rank[1:] for problem in tensor_problems(tensors)]
            tensors = by_rank[0]
            scalars = dict(part.scalars(case.params, 0))
            cost = part.cost(case.params)
        case DialogueTask():
            limits = budget_problems(part.limits(case.params))
            return (), None, [*region_problems(part.regions(case.params)), *limits]
    problems += [*tensor_problems(tensors), *scalar_problems(scalars, tensors), *cost_problems(cost, case)]
    return tensors, cost, problems


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
