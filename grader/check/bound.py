"""The bound of a function, held against brute force: what a call must touch is found by changing every input.

An input element counts if some change of it changes some output; every output element counts. The bytes of a
cost must not be more than that, or honest code could beat the bound.
"""

import functools
import inspect
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, TypeAlias

from grader.assignment import Assignment
from grader.check import operations, priced
from grader.check.collective import as_function
from grader.check.finding import Finding, State, fails, holds, warning
from grader.check.slots import answer, filled
from grader.manifest import Manifest
from grader.task import (
    CollectiveTask,
    DialogueTask,
    FunctionTask,
    Params,
    Slot,
    Tensor,
    carries_price,
    inputs,
    outputs,
)

if TYPE_CHECKING:
    import torch

MAX_INPUTS = 2000
"""Input elements of the largest case that is tried: each costs a few calls of the oracle."""
SHORT_SECONDS = 50e-6
_SEED = bytes(16)

Outputs: TypeAlias = "Mapping[str, torch.Tensor]"


def check(assignment: Assignment, manifest: Manifest, hardware: str) -> list[Finding]:
    """Bound, cost and linking of every part. Runs `task.py`."""
    findings: list[Finding] = []
    for name, part in assignment.parts().items():
        if isinstance(part, FunctionTask):
            cases = _params(assignment, name, hardware)
            independent = _independent(name, part, cases)
            # One that is the other cannot be called as the other.
            findings += (
                [independent]
                if independent.state is State.FAILS
                else [independent, *_bytes(name, part, cases), *operations.check(name, part, cases)]
            )
        elif isinstance(part, CollectiveTask):
            cases = _params(assignment, name, hardware)
            findings.append(_independent(name, part, cases))
            if not part.priced:
                findings += _bytes(name, as_function(part), cases)
        if (
            isinstance(part, DialogueTask | CollectiveTask)
            and carries_price(part)
            and _is_priced(assignment, name)
        ):
            findings += priced.bound(name, part)
    return [*findings, *_short(manifest)]


def _params(assignment: Assignment, part: str, hardware: str) -> list[Params]:
    return [
        case.params
        for case in assignment.cases(hardware, _SEED)
        if case.part == part and case.visibility == "public"
    ]


def _is_priced(assignment: Assignment, part: str) -> bool:
    return any(case.part == part and case.role == "timed" for case in assignment.spec.cases)


def _independent(name: str, task: FunctionTask | CollectiveTask, cases: Sequence[Params]) -> Finding:
    """Cost and oracle must be written apart: an error in one must not hide in the other."""
    subject = f"cost of {name}"
    oracle, cost = _code(task.oracle), _code(task.cost)
    functions: tuple[object, object] = (task.cost, task.oracle)
    if functions[0] is functions[1] or (oracle is not None and oracle is cost):
        return fails(subject, "cost and oracle are one function")
    if any(oracle in _runs(task.cost, params) for params in cases):
        return fails(subject, f"it calls the oracle ({getattr(task.oracle, '__name__', 'oracle')})")
    return holds(subject, "is not the oracle and does not call it")


def _code(function: object) -> CodeType | None:
    """The code behind a function, wrappers and partial applications taken off."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _runs(function: Callable[[Params], object], params: Params) -> set[CodeType]:
    """The code of every Python function that one call runs, however it is reached."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            found.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(params)
    finally:
        sys.setprofile(before)
    return found


def _bytes(name: str, task: FunctionTask, cases: Sequence[Params]) -> Iterator[Finding]:
    subject = f"bound of {name}"
    sized = [(sum(tensor.elements for tensor in inputs(task.tensors(params))), params) for params in cases]
    tiny = [
        params for elements, params in sorted(sized, key=lambda one: one[0]) if 0 < elements <= MAX_INPUTS
    ]
    if not tiny:
        yield fails(subject, f"no public case has at most {MAX_INPUTS} input elements to try by brute force")
        return
    params = tiny[0]
    counted, touched = task.cost(params).dram_bytes, touched_bytes(task, params)
    if counted > touched:
        yield fails(subject, f"{dict(params)}: the cost counts {counted:g} bytes, {touched} must be touched")
    elif counted < touched:
        text = f"{dict(params)}: the cost counts {counted:g} of {touched} bytes that must be touched"
        yield warning(subject, text)
    else:
        yield holds(subject, f"brute force: exactly the {touched} bytes that must be touched are counted")


def touched_bytes(task: FunctionTask, params: Params) -> int:
    """Bytes of the input elements that can change an output, and of all outputs."""
    import torch

    tensors = tuple(task.tensors(params))
    slot = filled(task, params, tensors, secrets.randbits(128))
    given = {tensor.name: slot[tensor.name] for tensor in inputs(tensors)}
    before = answer(task, params, tensors, given)
    touched = sum(tensor.elements * tensor.item_bytes for tensor in outputs(tensors))
    for tensor in inputs(tensors):
        for index in torch.cartesian_prod(*map(torch.arange, tensor.shape)).reshape(tensor.elements, -1):
            if _matters(task, params, given, before, tensor, tuple(index.tolist())):
                touched += tensor.item_bytes
    return touched


def _matters(
    task: FunctionTask, params: Params, given: Slot, before: Outputs, tensor: Tensor, index: tuple[int, ...]
) -> bool:
    """Whether one of a few changes of one element changes any output."""
    import torch

    for factor, term in ((-1.5, 1.0), (1.0, 37.0), (0.0, 0.0)):
        changed = given[tensor.name].clone()
        old = changed[index].clone()
        changed[index] = ~old if old.dtype == torch.bool else (old.double() * factor + term).to(old.dtype)
        after = task.oracle(params, {**given, tensor.name: changed})
        if any(not torch.equal(before[name], after[name]) for name in before):
            return True
    return False


def _short(manifest: Manifest) -> Iterator[Finding]:
    for case in manifest.cases:
        for target, bound in case.bounds.items():
            if bound.seconds < SHORT_SECONDS and not case.linked:
                text = f"bound of {bound.seconds * 1e6:.1f} µs on {target}: calls may overlap unseen; link it"
                yield warning(f"case {case.id}", text)
