"""The audit of a round on a device: by rows where a task allows it, by Freivalds's test, or slot by slot."""

from collections.abc import Mapping, Sequence
from random import SystemRandom

import numpy as np

from grader.contract import Verdict
from grader.judge import authored, freivalds
from grader.judge.arena import same_bits
from grader.judge.audit import Comparison
from grader.judge.failure import CandidateFailure
from grader.judge.gpu.arena import DeviceArena, Private
from grader.judge.gpu.fill import Burst, Regions
from grader.judge.gpu.link import Link
from grader.judge.gpu.rowaudit import RowAudit
from grader.judge.layout import SlotLayout
from grader.messages import text
from grader.task import Case, FunctionTask, Product, Slot, Tolerance

SUSPECTS = 4
"""Slots that look unwritten and are audited whole beside the rows of all."""
TESTED = 256
"""Slots of a round to which Freivalds's test is put, and so many of them to the oracle too."""
ASKED = 2


class Audit:
    """Audits slots in `arena` (at address `base`); inputs are made again from the table of their fill."""

    def __init__(
        self,
        arena: DeviceArena,
        slots: Sequence[SlotLayout],
        base: int,
        task: FunctionTask,
        case: Case,
        link: Link | None,
    ) -> None:
        import torch

        self._arena, self._slots, self._base = arena, slots, base
        self._task, self._case, self._link = task, case, link
        self._tensors = [placement.tensor for placement in slots[0].plan.placements]
        self._one = SlotLayout(0, 0, slots[0].plan)
        self._mine, self._found = Private(slots[0].plan.stride), Private(slots[0].plan.stride)
        self._states = torch.empty(0)

    def round(
        self, count: int, sample: int | None, suspects: Sequence[int], inputs: Regions
    ) -> tuple[int, list[Comparison]]:
        """See `DeviceRing.audit_round`; `suspects` are slots that look unwritten."""
        if self._link is not None:
            self._states = self._link.states(count)
        elif self._task.rowwise:
            rows = RowAudit(self._arena, self._slots[:count], self._base, inputs, self._case)
            return count, _join(self.slots(suspects[:SUSPECTS], inputs), rows.run(self._expected))
        elif self._task.product is not None:
            return self._products(self._task.product, count, suspects, inputs)
        some = sample is not None and sample < count
        drawn = SystemRandom().sample(range(count), sample or 0) if some else range(count)
        chosen = list(dict.fromkeys([*suspects, *drawn]))
        return len(chosen), self.slots(chosen, inputs)

    def slots(self, indices: Sequence[int], inputs: Regions) -> list[Comparison]:
        """Recompute these slots and compare: one Comparison an output, joined over the slots.

        Stops at the first slot that fails. Raises AssignmentFault if the oracle fails, CandidateFailure for
        an input that was written to.
        """
        joined: list[Comparison] = []
        for index in indices:
            joined = _join(joined, self._compared(*self._pair(index, inputs)))
            if not all(result.passed for result in joined):
                break
        return joined

    def _products(
        self, product: Product, count: int, suspects: Sequence[int], inputs: Regions
    ) -> tuple[int, list[Comparison]]:
        """Freivalds's test on many slots; the oracle on a few, and on those that do not pass it."""
        tested = SystemRandom().sample(range(count), min(count, TESTED))
        joined = self.slots(list(dict.fromkeys([*suspects[:SUSPECTS], *tested[:ASKED]])), inputs)
        given = self._case.tolerance
        limits = given.get(product.out, given.get("*", Tolerance(0.0, 0.0, 0.0)))
        for index in tested[ASKED:]:
            if not all(result.passed for result in joined):
                break
            mine, found = self._pair(index, inputs)
            passed = freivalds.holds(product, mine, found, limits)
            joined = _join(joined, [passed] if passed else self._compared(mine, found))
        return len(tested), joined

    def _pair(self, index: int, inputs: Regions) -> tuple[Slot, Slot]:
        """(the judge's own inputs, what was found) of a slot, both in private memory.

        Raises CandidateFailure for an input that was written to.
        """
        slot = self._slots[index]
        self._found.bytes().copy_(self._arena.bytes()[slot.start : slot.end])
        mine, found = self._mine.tensors(self._one), self._found.tensors(self._one)
        begin = self._base + slot.start
        table = inputs[(inputs["address"] >= begin) & (inputs["address"] < begin + slot.plan.stride)]
        # Addresses wrap around as the numbers of the table do.
        table["address"] += np.uint64((self._mine.bytes().data_ptr() - begin) % (1 << 64))
        Burst([table]).queue()
        if self._link is not None and index > 0:
            self._link.flip(mine, self._states, index)
        for tensor in self._tensors:
            if tensor.role == "in" and not same_bits(found[tensor.name], mine[tensor.name]):
                raise CandidateFailure(Verdict.WRONG_ANSWER, text("input_modified", name=tensor.name))
        return mine, found

    def _compared(self, mine: Slot, found: Slot) -> list[Comparison]:
        given = {tensor.name: mine[tensor.name] for tensor in self._tensors if tensor.role != "out"}
        expected = authored.guard("oracle", self._case, lambda: self._expected(given))
        return authored.compare(self._tensors, found, expected, self._case)

    def _expected(self, given: Slot) -> object:
        """What the oracle returned, its tensors on the device; what else it holds the comparison refuses."""
        import torch

        expected: object = self._task.oracle(self._case.params, given)
        if not isinstance(expected, Mapping):
            return expected
        return {
            name: values.to("cuda") if isinstance(values, torch.Tensor) else values
            for name, values in expected.items()
        }


def _join(left: list[Comparison], right: list[Comparison]) -> list[Comparison]:
    """The same outputs over both; either may be nothing yet."""
    if not left or not right:
        return left or right
    return [a.join(b) for a, b in zip(left, right, strict=True)]
