"""The operations of a cost, held against those that the oracle makes.

An oracle is one way to do the work. A cost that counts more operations than that is no bound: the oracle
itself, on ideal hardware, would beat it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.check.finding import Finding, fails, holds, warning
from grader.check.slots import filled
from grader.task import FunctionTask, Params, inputs

if TYPE_CHECKING:
    import torch

MAX_ELEMENTS = 1 << 20
"""Input elements of the largest case that is counted."""
_SEED = 1
_MOVES = frozenset(
    {
        "_to_copy", "arange", "cat", "clone", "copy_", "detach", "empty", "empty_strided", "fill_", "full",
        "gather", "index", "index_put_", "index_select", "lift_fresh", "new_empty", "new_zeros", "repeat",
        "stack", "zero_", "zeros",
    }
)  # fmt: skip
"""Names of what moves values and makes none."""
_REDUCTIONS = frozenset({"sum", "mean", "amax", "amin", "max", "min", "prod", "cumsum", "any", "all"})
_UNKNOWN = 16
"""Operations an element of whatever is neither: rather too many than too few."""
_OUTSIDE = frozenset({"numpy", "__array__", "tolist", "item", "__dlpack__", "data_ptr"})
"""Methods with which values leave torch: what is then made of them is not seen."""


def check(name: str, task: FunctionTask, cases: Sequence[Params]) -> Iterator[Finding]:
    """One finding, where the cost counts operations at all. Runs `task.py`."""
    subject = f"operations of {name}"
    least, tried = math.inf, 0
    for params in cases:
        elements = sum(tensor.elements for tensor in inputs(task.tensors(params)))
        claimed = math.fsum(task.cost(params).operations.values())
        if not 0 < elements <= MAX_ELEMENTS or not claimed:
            continue
        made, whole = counted(task, params)
        if claimed > made:
            text = f"{dict(params)}: the cost counts {claimed:g}, the oracle needs {made:g}"
            if whole:
                yield fails(subject, f"{text}: it would beat the bound")
            else:
                yield warning(subject, f"{text} in torch, and more outside of it: is that enough?")
            return
        least, tried = min(least, made / claimed), tried + 1
    if tried:
        text = f"the oracle needs at least {least:.2f} times those that are counted, in {tried} cases"
        yield holds(subject, text)


def counted(task: FunctionTask, params: Params) -> tuple[float, bool]:
    """Operations that torch carries out for one answer of the oracle, and whether they are all of it.

    A multiplication with an addition counts as two, a function such as an exponential as one.
    """
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchFunctionMode):
        outside = False

        def __torch_function__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.outside = self.outside or getattr(function, "__name__", "") in _OUTSIDE
            return function(*args, **(kwargs or {}))

    class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call,unused-ignore]
        made = 0.0

        def __torch_dispatch__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            answer = function(*args, **(kwargs or {}))
            self.made += _of_call(function, args, kwargs or {}, answer)
            return answer

    tensors = tuple(task.tensors(params))
    slot = filled(task, params, tensors, _SEED)
    given = {tensor.name: slot[tensor.name] for tensor in inputs(tensors)}
    with Calls() as calls, Operations() as operations:  # type: ignore[no-untyped-call,unused-ignore]
        task.oracle(params, given)
    return operations.made, not calls.outside


def _of_call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], answer: Any) -> float:
    import torch
    from torch.utils.flop_counter import flop_registry

    packet = function.overloadpacket
    if formula := flop_registry.get(packet):
        return float(formula(*args, **kwargs, out_val=answer))
    name = packet.__name__
    if name in _MOVES or function.is_view:
        return 0.0
    size = max((one.numel() for one in _tensors((args, kwargs, answer))), default=0)
    if torch.Tag.pointwise in function.tags or name in _REDUCTIONS:
        return float(size)
    return float(_UNKNOWN * size)


def _tensors(value: Any) -> "Iterator[torch.Tensor]":
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _tensors(entry)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _tensors(entry)
