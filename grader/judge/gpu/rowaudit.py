"""The audit of calls whose rows do not depend on each other: some secret rows of every slot of a round.

The oracle's work is that of a few thousand rows, however many the round has; whoever leaves out a call, or a
share of the rows, is seen in the first round in which he does it. The inputs of the rows are made again from
the seeds of their slots: the table that filled the round says how.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grader.contract import Verdict
from grader.judge import authored
from grader.judge.arena import Memory, same_bits
from grader.judge.audit import Comparison
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.gpu.fill import Burst, Regions
from grader.judge.layout import Placement, SlotLayout
from grader.messages import text
from grader.task import Case, Slot, Tensor

if TYPE_CHECKING:
    import torch

ROWS = 4096
"""Rows of a round, about: leaving out one in a hundred survives with a probability of 1e-18."""
LEAST = 2
"""Rows of a slot at least."""
MOST_BYTES = 1 << 30
"""Of one tensor's rows; longer rows are fewer."""


def check(tensors: Sequence[Tensor], case: Case) -> None:
    """Raise AssignmentFault unless every tensor is a matrix of one height, or (inputs) a vector."""
    heights = {tensor.shape[0] for tensor in tensors if len(tensor.shape) == 2}
    for tensor in tensors:
        vector = tensor.role == "in" and len(tensor.shape) == 1
        if not vector and len(tensor.shape) != 2:
            raise AssignmentFault(
                "rowwise", f"task.py: case {case.id!r}: {tensor.describe()} of a rowwise task is no matrix"
            )
        if tensor.role == "inout" or tensor.alias_of is not None or tensor.count is not None:
            raise AssignmentFault(
                "rowwise", f"task.py: case {case.id!r}: {tensor.name!r} cannot be audited by rows"
            )
    if len(heights) != 1:
        raise AssignmentFault("rowwise", f"task.py: case {case.id!r}: matrices of {sorted(heights)} rows")


class RowAudit:
    """Audits the first `count` slots of a round whose inputs were filled by `regions`."""

    def __init__(
        self,
        memory: Memory,
        slots: Sequence[SlotLayout],
        base: int,
        regions: Regions,
        case: Case,
    ) -> None:
        """`base`: address of the memory that the slots lie in."""
        self._memory = memory
        self._slots = slots
        self._case = case
        self._placements = slots[0].plan.placements
        matrix = next(p.tensor for p in self._placements if len(p.tensor.shape) == 2)
        widest = max(p.tensor.shape[-1] * p.tensor.item_bytes for p in self._placements)
        wanted = max(1, min(ROWS, MOST_BYTES // max(1, widest)))
        each = min(matrix.shape[0], max(LEAST, -(-wanted // len(slots))))
        random = np.random.default_rng()
        self.rows = np.sort(random.integers(matrix.shape[0], size=(len(slots), each)), axis=1)
        self._filled = {
            placement.tensor.name: self._regions(placement, base, regions)
            for placement in self._placements
            if placement.tensor.role == "in"
        }

    def run(self, oracle: Callable[[Slot], object]) -> list[Comparison]:
        """One Comparison an output over all rows; `oracle` says what rows of the inputs give.

        Raises AssignmentFault, and CandidateFailure for an input that was written to.
        """
        mine = self._made_again()
        found = {placement.tensor.name: self._taken(placement) for placement in self._placements}
        for placement in self._placements:
            tensor = placement.tensor
            if tensor.role == "in" and not same_bits(found[tensor.name], mine[tensor.name]):
                raise CandidateFailure(Verdict.WRONG_ANSWER, text("input_modified", name=tensor.name))
        expected = authored.guard("oracle", self._case, lambda: oracle(mine))
        tensors = [placement.tensor for placement in self._placements]
        results = authored.compare(tensors, found, expected, self._case)
        return [self._named(result) for result in results]

    def _regions(self, placement: Placement, base: int, regions: Regions) -> Regions:
        """The one region of each slot that fills this input, in the order of the slots."""
        tensor = placement.tensor
        first = base + self._slots[0].start + placement.start
        offset = regions["address"].astype(np.int64) - first
        stride = self._slots[0].plan.stride
        mine = (offset >= 0) & (offset % stride < max(1, tensor.span_bytes))
        mine &= offset // stride < len(self._slots)
        found = regions[mine]
        found = found[np.argsort(found["address"], kind="stable")]
        whole = tensor.shape[0] if len(tensor.shape) == 2 else 1
        if len(found) != len(self._slots) or (found["rows"] != whole).any():
            raise AssignmentFault(
                "fill",
                f"task.py: case {self._case.id!r}: a rowwise task fills each input by one call; "
                f"{tensor.name!r} is filled by {len(found) / len(self._slots):g}",
            )
        return found

    def _made_again(self) -> "dict[str, torch.Tensor]":
        import torch

        count = self.rows.size
        made: dict[str, torch.Tensor] = {}
        tables = []
        for placement in self._placements:
            tensor = placement.tensor
            if tensor.role != "in":
                continue
            columns = tensor.shape[-1]
            rows = torch.empty(count, columns, dtype=getattr(torch, tensor.dtype), device="cuda")
            table = np.repeat(self._filled[tensor.name], self.rows.shape[1])
            if len(tensor.shape) == 2:
                table["first_row"] += self.rows.reshape(-1).astype(np.uint64)
            step = columns * tensor.item_bytes
            table["address"] = rows.data_ptr() + np.arange(count, dtype=np.uint64) * np.uint64(step)
            table["rows"], table["row_stride"], table["column_stride"] = 1, columns, 1
            made[tensor.name] = rows
            tables.append(table)
        if tables:
            Burst([np.concatenate(tables)]).queue()
        return made

    def _taken(self, placement: Placement) -> "torch.Tensor":
        """The chosen rows as the candidate left them, copied before anything is decided from them."""
        import torch

        stacked = self._memory.stacked(self._slots, placement)
        each = self.rows.shape[1]
        if len(placement.tensor.shape) == 1:
            return stacked.repeat_interleave(each, 0)
        slot = torch.arange(len(self._slots), device="cuda").repeat_interleave(each)
        row = torch.from_numpy(self.rows.reshape(-1)).cuda()
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[stacked.element_size()]
        return stacked.view(bits)[slot, row].view(stacked.dtype)

    def _named(self, result: Comparison) -> Comparison:
        """The first wrong index within its own call, not among the rows taken."""
        first = result.first_wrong
        if first is None:
            return result
        number, *rest = first.index
        row = int(self.rows.reshape(-1)[number])
        return replace(result, first_wrong=first.model_copy(update={"index": (row, *rest)}))
