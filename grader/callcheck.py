"""What a task may say of one call: its tensors, scalars, cost and regions.

Each function returns or yields problems, pairs of what is wrong and what would be right.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from grader.faults import near
from grader.task import ITEM_BYTES, Budget, Case, Cost, Region, Tensor, TensorRegion

Problem: TypeAlias = tuple[str, str]

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

_MAX_SLOT_BYTES = 64 << 30
_MAX_DIMENSIONS = 8
_ROLES = ("in", "inout", "out")


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


def scalar_problems(scalars: Mapping[str, object], tensors: Sequence[Tensor]) -> Iterator[Problem]:
    """What is wrong with the scalars of a call: names and types."""
    names = {tensor.name for tensor in tensors}
    for name, value in scalars.items():
        if not str(name).isidentifier() or name in names:
            yield f"scalar {name!r} has no name of its own", "right is a name that no tensor has"
        if not isinstance(value, bool | int | float):
            yield f"scalar {name!r} is {describe(value)}", "right is a boolean or a number"
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"scalar {name!r} is {value}", "right is a finite number"
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            yield f"scalar {name!r} is {value}", "right is a number of at most 64 bits"


def cost_problems(cost: object, case: Case) -> list[Problem]:
    """What is wrong with a cost: unknown units, amounts that are none, nothing at all in a timed case."""
    if not isinstance(cost, Cost):
        return [(f"cost gave {describe(cost)}", "right is a grader.task.Cost")]
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


def region_problems(regions: Sequence[Region]) -> list[Problem]:
    """What is wrong with the regions of a dialogue."""
    problems = []
    names = [region.name for region in regions]
    if len(set(names)) != len(names):
        problems.append((f"regions {', '.join(names)}: a name occurs twice", "each must be unique"))
    for region in regions:
        if isinstance(region, TensorRegion):
            wrong = list(_named_problems(region))
            problems += wrong
            if wrong:
                continue
        blob = region.blob if isinstance(region, TensorRegion) else region
        if blob.dtype not in ITEM_BYTES:
            problems.append((f"region {blob.name!r} has dtype {blob.dtype!r}", near(blob.dtype, ITEM_BYTES)))
        elif not 0 < blob.max_elements * ITEM_BYTES[blob.dtype] <= _MAX_SLOT_BYTES:
            problems.append((f"region {blob.name!r} has {blob.max_elements} elements", "right is 1 or more"))
    return problems


def _named_problems(region: TensorRegion) -> Iterator[Problem]:
    if not region.tensors:
        yield f"region {region.name!r} has no tensors", "name at least one"
    for name, (dtype, shape) in region.tensors.items():
        where = f"region {region.name!r}: tensor {name!r}"
        if dtype not in ITEM_BYTES:
            yield f"{where} has dtype {dtype!r}", near(str(dtype), ITEM_BYTES)
        if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape):
            yield f"{where} has shape {shape}", "all sizes are integers from 0 up"
        if not name or name == "__metadata__" or len(name) > 200:
            yield f"{where} has no name that a file can hold", "right is a name of 1 to 200 characters"


def budget_problems(budget: object) -> list[Problem]:
    """What is wrong with the limits of an episode."""
    if not isinstance(budget, Budget):
        return [(f"budget gave {describe(budget)}", "right is a grader.task.Budget")]
    amounts = (budget.messages, budget.message_seconds, budget.episode_seconds)
    if all(isinstance(amount, int | float) and 0 < amount < math.inf for amount in amounts):
        return []
    return [(f"budget gave {budget}", "right are finite numbers above 0")]


def describe(value: object) -> str:
    """A short text of a value for messages."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
