"""The table that one kernel writes: its regions cover what `Memory.prepare` covers, tile by tile."""

from typing import Any

import numpy as np
import pytest
import torch

from grader import fills
from grader.judge import layout
from grader.judge.arena import Arena
from grader.judge.gpu import fill
from grader.task import ITEM_BYTES, Tensor

TENSORS = [
    Tensor("x", "float32", (3, 5), "in", strides=(9, 1), offset=2),
    Tensor("y", "bfloat16", (4, 7), "out", strides=(11, 1)),
    Tensor("z", "int64", (2, 3), "out"),
    Tensor("w", "float32", (2, 2, 3), "out", strides=(20, 8, 2)),
    Tensor("b", "bool", (13,), "out"),
    Tensor("e", "float32", (0, 4), "out"),
]


def written(memory: np.ndarray[Any, np.dtype[np.uint8]], regions: fill.Regions) -> None:
    """What the kernel does with regions of constants, element by element."""
    for region in regions:
        assert region["kind"] == fill.CONSTANT
        item = ITEM_BYTES[fill.DTYPES[int(region["dtype"])]]
        word = np.frombuffer(int(region["word"]).to_bytes(8, "little") * 2, np.uint8)
        for row in range(int(region["rows"])):
            for column in range(int(region["columns"])):
                element = row * int(region["row_stride"]) + column * int(region["column_stride"])
                at = int(region["address"]) + element * item
                first = column * item % 16
                memory[at : at + item] = word[first : first + item]


def test_poison_and_canaries_lie_where_the_host_writes_them() -> None:
    slots = layout.plan(TENSORS, 3)
    same = Arena(slots[-1].end)
    same.prepare(slots)
    expected = same.bytes().numpy()[: slots[-1].end].copy()
    memory = np.zeros(slots[-1].end, np.uint8)
    for part in fill.poison_and_canaries(slots, 0):
        written(memory, part)
    np.testing.assert_array_equal(memory, expected)


def test_fewer_slots_are_a_prefix_of_the_table() -> None:
    slots = layout.plan(TENSORS, 4)
    for whole, part in zip(
        fill.poison_and_canaries(slots, 64), fill.poison_and_canaries(slots[:2], 64), strict=True
    ):
        np.testing.assert_array_equal(whole[: len(part)], part)
        assert len(whole) == 2 * len(part)


def test_a_device_is_filled_through_a_recorder_alone() -> None:
    tensor = torch.empty(4, 4, device="meta")
    with pytest.raises(TypeError, match="timed round"):
        fills.uniform(tensor, 1, "x")
    asked: list[tuple[Any, ...]] = []

    class Notes:
        def uniform(self, *given: Any) -> None:
            asked.append(("uniform", *given[1:]))

        def rows(self, *given: Any) -> None:
            asked.append(("rows", *given[1:]))

        def integers(self, *given: Any) -> None:
            asked.append(("integers", *given[1:]))

    with fills.recording(Notes()):
        fills.uniform(tensor, 1, "x", 0.0, 2.0)
        fills.rows(tensor, 2, "y")
        fills.integers(tensor, 3, "z", -1, 1)
    assert asked == [
        ("uniform", 1, "x", 0.0, 2.0),
        ("rows", 2, "y", 4.0, 1 / 16, 1 / 4096),
        ("integers", 3, "z", -1, 1),
    ]
    with pytest.raises(TypeError):
        fills.integers(tensor, 3, "z", -1, 1)


def test_keys_depend_on_all_of_the_seed_and_on_the_label() -> None:
    recorder = fill.Recorder()
    tensor = torch.empty(5, 7)
    for seed, label in ((0, "x"), (1, "x"), (1 << 127, "x"), (0, "y")):
        recorder.uniform(tensor, seed, label, -1.0, 1.0)
    taken = recorder.take()
    assert len({(int(row["key0"]), int(row["key1"])) for row in taken}) == 4
    assert len(recorder.take()) == 0
    with pytest.raises(ValueError, match="128 bits"):
        recorder.uniform(tensor, 1 << 128, "x", -1.0, 1.0)
    with pytest.raises(TypeError, match="floating-point"):
        recorder.rows(torch.empty(3, dtype=torch.int32), 1, "x", 4.0, 0.1, 0.1)


def test_rows_are_counted_through_the_whole_tensor() -> None:
    recorder = fill.Recorder()
    recorder.uniform(torch.empty(20, 8, 6)[::5, ::2, ::2], 1, "x", -1.0, 1.0)
    taken = recorder.take()
    assert [int(row["first_row"]) for row in taken] == [0, 4, 8, 12]
    assert {(int(row["rows"]), int(row["columns"]), int(row["column_stride"])) for row in taken} == {
        (4, 3, 2)
    }
