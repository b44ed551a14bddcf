"""Cheap wrong answers that no tolerance may let through, made by the judge from its own oracle.

Constants in place of an output; every row's size replaced by the mean one (what a guessed statistic gives);
the last tenth of every input left out; the last tenth of every input in the next lower precision. Each output
is looked at alone, in every public and timed case in which the mutant changes it.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from grader.assignment import Assignment
from grader.check import slots
from grader.check.collective import as_function, as_function_case
from grader.check.finding import Finding, fails, holds, warning
from grader.check.slots import filled
from grader.judge import poison
from grader.judge.audit import compare_slot
from grader.task import Case, CollectiveTask, FunctionTask, Slot, Tensor, inputs, outputs

if TYPE_CHECKING:
    import torch

MAX_ELEMENTS = 1 << 24
"""Of a case's tensors together: larger cases are left out, for time."""
_SEED = bytes(16)
_DRAWS = 8
"""Fills with which a small case must take the oracle's own answer."""
_SMALL = 1 << 16
_MANTISSA = {"float64": 23, "float32": 10, "float16": 7, "bfloat16": 3}
"""Bits of the next lower precision: float32, tf32, bfloat16, fp8."""
_SHARE = 0.1

Outputs: TypeAlias = "Mapping[str, torch.Tensor]"
Mutant: TypeAlias = "Callable[[_Sample], Outputs]"


@dataclass(frozen=True)
class _Sample:
    """One filled case: its oracle's inputs and answer."""

    task: FunctionTask
    case: Case
    tensors: Sequence[Tensor]
    given: Slot
    expected: Slot

    def honest(self) -> "dict[str, torch.Tensor]":
        """The oracle's answer rounded once to the type of each output."""
        return {tensor.name: _rounded(self.expected[tensor.name], tensor) for tensor in outputs(self.tensors)}


def check(assignment: Assignment, hardware: str) -> list[Finding]:
    """The tolerances of every function of the assignment. Runs `task.py`."""
    findings: list[Finding] = []
    parts = assignment.parts()
    for name, part in parts.items():
        cases = [case for case in assignment.cases(hardware, _SEED) if case.part == name]
        if isinstance(part, CollectiveTask):
            cases = [as_function_case(part, case) for case in cases]
        function = as_function(part) if isinstance(part, CollectiveTask) else part
        if isinstance(function, FunctionTask):
            findings += _of_part(name, [*_samples(function, cases)])
            findings += _left_out(name, function, cases)
    return findings


def _left_out(name: str, task: FunctionTask, cases: Sequence[Case]) -> Iterator[Finding]:
    """A warning where timed cases are too large to be tried: a small one in their place should be a test."""
    large = [case.id for case in cases if case.role == "timed" and _elements(task, case) > MAX_ELEMENTS]
    if large:
        text = f"not tried in {', '.join(large)}: above {MAX_ELEMENTS} elements"
        yield warning(f"tolerances of {name}", text)


def _elements(task: FunctionTask, case: Case) -> int:
    return sum(tensor.elements for tensor in task.tensors(case.params))


def _of_part(name: str, samples: Sequence[_Sample]) -> list[Finding]:
    subject = f"tolerances of {name}"
    if not samples:
        return [fails(subject, f"no public or timed case has at most {MAX_ELEMENTS} elements")]
    refused = [sample.case.id for sample in samples if not _takes_its_oracle(sample)]
    if refused:
        return [fails(subject, f"the oracle's own answer, rounded once, is refused in {', '.join(refused)}")]
    if constant := _constant(samples):
        return [fails(subject, f"a constant is the right answer: {', '.join(constant)}: look at fill")]
    findings = [_of_mutant(subject, label, mutant, samples) for label, mutant in _MUTANTS.items()]
    return [*findings, holds(subject, f"the oracle's answer, rounded once, passes in {len(samples)} cases")]


def _of_mutant(subject: str, label: str, mutant: Mutant, samples: Sequence[_Sample]) -> Finding:
    """Each output must be refused in every timed case, and in some public test."""
    tried: dict[str, int] = {}
    seen: set[str] = set()
    missed: list[str] = []
    for sample in samples:
        found = mutant(sample)
        for output, rejected in _rejected(sample, found).items():
            if not _changed(sample, output, found):
                continue
            tried[output] = tried.get(output, 0) + 1
            if rejected:
                seen.add(output)
            elif sample.case.role == "timed":
                missed.append(f"{output} in {sample.case.id}")
    missed += [f"{output} in every public case" for output in tried if output not in seen]
    if missed:
        return fails(subject, f"{label}: accepted: {', '.join(missed)}")
    if not tried:
        return holds(subject, f"{label}: changes no output")
    return holds(subject, f"{label}: refused ({', '.join(sorted(tried))})")


def _constant(samples: Sequence[_Sample]) -> list[str]:
    """Timed cases whose outputs each hold one value alone, and outputs that do so in every public case."""
    varied: dict[str, bool] = {}
    found = []
    for sample in samples:
        varies = {name: _varies(values) for name, values in sample.honest().items() if values.numel()}
        if sample.case.role == "timed" and not any(varies.values()):
            found.append(f"all of {sample.case.id}")
        for output, does in varies.items():
            varied[output] = varied.get(output, False) or does
    return found + [f"{output} in every public case" for output, does in varied.items() if not does]


def _varies(values: "torch.Tensor") -> bool:
    """Whether there are two values, or a single one that is not zero."""
    wide = values.double().reshape(-1)
    return bool((wide != wide[0]).any() if len(wide) > 1 else wide[0] != 0)


def _samples(task: FunctionTask, cases: Sequence[Case]) -> Iterator[_Sample]:
    for case in cases:
        if case.visibility == "hidden":
            continue
        tensors = tuple(task.tensors(case.params))
        if not 0 < _elements(task, case) <= MAX_ELEMENTS or not any(
            tensor.elements for tensor in outputs(tensors)
        ):
            continue
        yield _sample(task, case, tensors)


def _sample(task: FunctionTask, case: Case, tensors: Sequence[Tensor]) -> _Sample:
    slot = filled(task, case.params, tensors, secrets.randbits(128))
    given = {tensor.name: slot[tensor.name] for tensor in inputs(tensors)}
    return _Sample(task, case, tensors, given, slots.answer(task, case.params, tensors, given))


def _takes_its_oracle(sample: _Sample) -> bool:
    """Whether the oracle's answer passes, for small cases with several fills."""
    elements = sum(tensor.elements for tensor in sample.tensors)
    more = _DRAWS if elements <= _SMALL else 0
    samples = [sample, *(_sample(sample.task, sample.case, sample.tensors) for _ in range(more))]
    return not any(any(_rejected(one, one.honest()).values()) for one in samples)


def _rejected(sample: _Sample, found: Outputs) -> dict[str, bool]:
    """For each output, whether it is refused beside the others; of another number of rows it is."""
    honest = sample.honest()
    other = {name for name in found if found[name].shape != honest[name].shape}
    whole = {
        tensor.name: _whole(honest[tensor.name] if tensor.name in other else found[tensor.name], tensor)
        for tensor in outputs(sample.tensors)
    }
    comparisons = compare_slot(sample.tensors, whole, sample.expected, sample.case.tolerance)
    return {
        comparison.output: comparison.output in other or not comparison.passed for comparison in comparisons
    }


def _whole(values: "torch.Tensor", tensor: Tensor) -> "torch.Tensor":
    """An output of unknown size at its largest, poisoned behind the rows that there are."""
    import torch

    if tensor.count is None:
        return values
    span = torch.empty(tensor.elements * tensor.item_bytes, dtype=torch.uint8)
    poison.fill(span, tensor.dtype)
    whole = span.view(values.dtype).view(tensor.shape)
    whole[: len(values)] = values
    return whole


def _changed(sample: _Sample, output: str, found: Outputs) -> bool:
    honest = sample.honest()[output]
    if found[output].shape != honest.shape:
        return True
    if not honest.numel():
        return False
    return bool((found[output].double() - honest.double()).abs().nan_to_num(nan=1.0).max() > 0)


def _zeros(sample: _Sample) -> Outputs:
    return {name: values * 0 for name, values in sample.honest().items()}


def _mean(sample: _Sample) -> Outputs:
    import torch

    return {
        name: torch.full_like(values, values.double().nan_to_num().mean().item(), dtype=torch.float64).to(
            values.dtype
        )
        for name, values in sample.honest().items()
    }


def _equal_rows(sample: _Sample) -> Outputs:
    """Rows scaled to one size: statistics of the input replaced by their expectation."""
    import torch

    def scaled(values: "torch.Tensor") -> "torch.Tensor":
        if values.dim() < 2 or not values.dtype.is_floating_point:
            return values
        rows = values.double().nan_to_num()
        sizes = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        equal: torch.Tensor = rows * (sizes.mean() / sizes.clamp_min(1e-300))
        return equal.to(values.dtype)

    return {name: scaled(values) for name, values in sample.honest().items()}


def _ninety_percent(sample: _Sample) -> Outputs:
    def without(values: "torch.Tensor") -> "torch.Tensor":
        changed = values.clone()
        changed[..., _tail(values) :] = 0
        return changed

    return _with_inputs(sample, without)


def _lower_precision(sample: _Sample) -> Outputs:
    import torch

    def rounded(values: "torch.Tensor") -> "torch.Tensor":
        bits = _MANTISSA.get(str(values.dtype).removeprefix("torch."))
        if bits is None:
            return values
        changed = values.clone()
        mantissa, exponent = torch.frexp(values[..., _tail(values) :].double())
        step = float(2 ** (bits + 1))
        changed[..., _tail(values) :] = torch.ldexp((mantissa * step).round() / step, exponent).to(
            values.dtype
        )
        return changed

    return _with_inputs(sample, rounded)


def _with_inputs(sample: _Sample, change: "Callable[[torch.Tensor], torch.Tensor]") -> Outputs:
    """The oracle's answer to changed inputs; integers stay where it cannot take them, as indices."""

    def answered(*, integers: bool) -> Outputs:
        given = {
            name: change(values)
            if values.dim() and values.shape[-1] > 1 and (integers or values.dtype.is_floating_point)
            else values
            for name, values in sample.given.items()
        }
        return sample.task.oracle(sample.case.params, given)

    try:
        answer = answered(integers=True)
    except (RuntimeError, IndexError):
        answer = answered(integers=False)
    return {tensor.name: _rounded(answer[tensor.name], tensor) for tensor in outputs(sample.tensors)}


def _tail(values: "torch.Tensor") -> int:
    """Where the last tenth of the last dimension begins; at least one element is in it."""
    size = values.shape[-1]
    return size - max(1, round(_SHARE * size))


def _rounded(values: "torch.Tensor", tensor: Tensor) -> "torch.Tensor":
    import torch

    dtype: torch.dtype = getattr(torch, tensor.dtype)
    return values.to(dtype)


_MUTANTS: Mapping[str, Mutant] = {
    "zeros": _zeros,
    "the mean of the output": _mean,
    "every row of the mean size": _equal_rows,
    "90 % of the inputs' columns": _ninety_percent,
    "10 % of the columns in lower precision": _lower_precision,
}
