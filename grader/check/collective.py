"""A collective as one function over the tensors of all ranks, for checks that need no candidate."""

import dataclasses
from collections.abc import Sequence

from grader.task import Case, CollectiveTask, FunctionTask, Params, Slot, Tensor


def as_function(task: CollectiveTask) -> FunctionTask:
    """The same task with every rank's tensors in one call, named `r0_x`, `r1_x` and so on."""

    def tensors(params: Params) -> Sequence[Tensor]:
        everybody = [
            _renamed(tensor, rank)
            for rank in range(task.ranks(params))
            for tensor in task.tensors(params, rank)
        ]
        return sorted(everybody, key=lambda tensor: ("in", "inout", "out").index(tensor.role))

    def of_ranks(params: Params, slot: Slot) -> list[Slot]:
        return [
            {
                tensor.name: slot[_name(tensor.name, rank)]
                for tensor in task.tensors(params, rank)
                if tensor.role != "out"
            }
            for rank in range(task.ranks(params))
        ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
        for slot, seed in zip(slots, seeds, strict=True):
            for rank, mine in enumerate(of_ranks(params, slot)):
                task.fill(params, rank, [mine], [seed])

    def oracle(params: Params, inputs: Slot) -> Slot:
        answers = task.oracle(params, of_ranks(params, inputs))
        return {
            _name(name, rank): value for rank, answer in enumerate(answers) for name, value in answer.items()
        }

    return FunctionTask(tensors=tensors, fill=fill, oracle=oracle, cost=task.cost)


def as_function_case(task: CollectiveTask, case: Case) -> Case:
    """A case with its tolerances under the names that its outputs then have."""
    tolerance = {
        _name(name, rank) if name != "*" else name: limits
        for name, limits in case.tolerance.items()
        for rank in range(task.ranks(case.params))
    }
    return dataclasses.replace(case, tolerance=tolerance)


def _name(name: str, rank: int) -> str:
    return f"r{rank}_{name}"


def _renamed(tensor: Tensor, rank: int) -> Tensor:
    alias = None if tensor.alias_of is None else _name(tensor.alias_of, rank)
    count = None if tensor.count is None else _name(tensor.count, rank)
    return dataclasses.replace(tensor, name=_name(tensor.name, rank), alias_of=alias, count=count)
