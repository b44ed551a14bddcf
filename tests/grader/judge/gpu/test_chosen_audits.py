"""What a task must be like for the audits and links of a device, and how its cost changes."""

import pytest
import torch

from grader.judge import layout
from grader.judge.arena import Memory
from grader.judge.failure import AssignmentFault
from grader.judge.gpu import link, rowaudit
from grader.judge.gpu.fill import Recorder, Regions
from grader.task import Case, Cost, Tensor

CASE = Case("case", "part", "public", "timed", {})
X = Tensor("x", "bfloat16", (6, 10), "in")
W = Tensor("w", "float32", (10,), "in")
Y = Tensor("y", "bfloat16", (6, 4), "out")


def test_rows_of_one_height_and_a_vector_are_taken() -> None:
    rowaudit.check([X, W, Y], CASE)


@pytest.mark.parametrize(
    "tensors",
    [
        [X, Tensor("y", "bfloat16", (5, 4), "out")],
        [X, Tensor("y", "bfloat16", (6,), "out")],
        [Tensor("x", "bfloat16", (6, 2, 5), "in"), Y],
        [X, Tensor("y", "bfloat16", (6, 4), "inout")],
        [X, Tensor("y", "bfloat16", (6, 4), "out", count="n")],
    ],
)
def test_other_tensors_of_a_rowwise_task_are_the_assignments_fault(tensors: list[Tensor]) -> None:
    with pytest.raises(AssignmentFault, match="rowwise"):
        rowaudit.check(tensors, CASE)


class Here(Memory):
    """Memory of this machine in place of a device's."""

    def __init__(self, size: int) -> None:
        self._bytes = torch.zeros(size, dtype=torch.uint8)

    def bytes(self) -> torch.Tensor:
        return self._bytes


def recorded(memory: Here, slots: tuple[layout.SlotLayout, ...], *, halves: bool) -> Regions:
    recorder = Recorder()
    for index, slot in enumerate(slots):
        views = memory.tensors(slot)
        parts = [views["x"][:3], views["x"][3:]] if halves else [views["x"]]
        for part in (*parts, views["w"]):
            recorder.uniform(part, index, "x", -1.0, 1.0)
    return recorder.take()


def test_rows_are_drawn_from_every_slot() -> None:
    slots = layout.plan([X, W, Y], 5)
    memory = Here(slots[-1].end)
    regions = recorded(memory, slots, halves=False)
    audit = rowaudit.RowAudit(memory, slots, memory.bytes().data_ptr(), regions, CASE)
    assert audit.rows.shape == (5, 6)
    assert audit.rows.min() >= 0
    assert audit.rows.max() < 6
    again = [
        rowaudit.RowAudit(memory, slots, memory.bytes().data_ptr(), regions, CASE).rows for _ in range(8)
    ]
    assert any((rows != audit.rows).any() for rows in again)


def test_an_input_that_is_filled_in_pieces_cannot_be_made_again_by_rows() -> None:
    slots = layout.plan([X, W, Y], 5)
    memory = Here(slots[-1].end)
    regions = recorded(memory, slots, halves=True)
    with pytest.raises(AssignmentFault, match=r"each input by one call; 'x' is filled by 2"):
        rowaudit.RowAudit(memory, slots, memory.bytes().data_ptr(), regions, CASE)


def test_a_link_flips_signs_and_costs_a_write_and_a_step() -> None:
    integers = Tensor("i", "int32", (9,), "in")
    link.check([X, W, integers, Y], CASE)
    assert [tensor.name for tensor in link.flipped([X, W, integers, Y])] == ["x", "w"]
    cost = link.cost(Cost(dram_bytes=100.0, steps=1), [X, W, integers, Y])
    assert cost == Cost(dram_bytes=100.0 + 2 * 60 + 4 * 10, steps=2)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([Tensor("i", "int32", (9,), "in"), Y], "no input with a sign"),
        ([Tensor("x", "bfloat16", (6, 10), "in", strides=(12, 1)), Y], "'x' must be contiguous"),
        ([X, Tensor("y", "bfloat16", (6, 4), "inout")], "'y' must be contiguous, in or out"),
    ],
)
def test_what_cannot_be_linked_is_the_assignments_fault(tensors: list[Tensor], message: str) -> None:
    with pytest.raises(AssignmentFault, match=message):
        link.check(tensors, CASE)
