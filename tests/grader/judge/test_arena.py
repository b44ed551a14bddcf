"""The shared memory: sealed before anybody else has it, laid out by the judge, guarded on every side."""

import ctypes
import fcntl
import mmap
import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.judge import poison
from grader.judge.arena import Arena, same_bits, snapshot
from grader.judge.layout import ALIGN, GUARD, LayoutError, SlotLayout, plan
from grader.task import ITEM_BYTES, DType, Role, Tensor

DTYPES: list[DType] = sorted(ITEM_BYTES)


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena(1 << 20)
    yield arena
    arena.close()


def test_nobody_can_resize_it_or_seal_it_further(arena: Arena) -> None:
    for size in (0, 1 << 19, 1 << 21):
        with pytest.raises(PermissionError):
            os.ftruncate(arena.descriptor, size)
    for seal in (fcntl.F_SEAL_WRITE, 0x0010):  # F_SEAL_FUTURE_WRITE
        with pytest.raises(PermissionError):
            fcntl.fcntl(arena.descriptor, fcntl.F_ADD_SEALS, seal)
    arena.bytes().fill_(7)
    assert arena.read(0, 2) == b"\7\7"


def test_what_lies_outside_is_not_read(arena: Arena) -> None:
    for start, size in ((-1, 1), (0, arena.size + 1), (arena.size, 1), (5, -1)):
        with pytest.raises(ValueError, match="do not lie"):
            arena.read(start, size)


def test_another_mapping_sees_the_same_bytes(arena: Arena) -> None:
    tensors = [
        Tensor("x", "bfloat16", (3, 4), "in", strides=(7, 1), offset=2),
        Tensor("y", "int16", (2,), "out"),
    ]
    slots = plan(tensors, 3)
    arena.prepare(slots)
    arena.tensors(slots[2])["x"].copy_(torch.arange(12).reshape(3, 4))
    with mmap.mmap(arena.descriptor, arena.size) as other:
        placement = slots[2].plan.placements[0]
        first = slots[2].start + placement.start + 2 * 2
        row = bytes(other[first + 2 * 7 * 2 : first + 2 * 7 * 2 + 8])
    assert torch.frombuffer(bytearray(row), dtype=torch.bfloat16).tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("dtype", DTYPES)
def test_outputs_are_poisoned_and_what_is_written_shows(arena: Arena, dtype: DType) -> None:
    tensors = [
        Tensor("dense", dtype, (3, 5), "out"),
        Tensor("strided", dtype, (3, 5), "out", strides=(8, 1), offset=1),
        Tensor("empty", dtype, (0, 5), "out"),
        Tensor("scalar", dtype, (), "out"),
    ]
    slots = plan(tensors, 4)
    arena.prepare(slots)
    for slot in slots:
        for name, view in arena.tensors(slot).items():
            assert bool(poison.mask(view, dtype).all()), name
            assert view.shape == next(tensor.shape for tensor in tensors if tensor.name == name)
    assert list(arena.disturbed(slots)) == []
    arena.tensors(slots[1])["strided"].zero_()
    assert not bool(poison.mask(arena.tensors(slots[1])["strided"], dtype).any())
    assert bool(poison.mask(arena.tensors(slots[2])["strided"], dtype).all())
    assert list(arena.disturbed(slots)) == []


@st.composite
def _tensors(draw: st.DrawFn) -> list[Tensor]:
    tensors = []
    for number in range(draw(st.integers(1, 4))):
        shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
        strides = None
        if draw(st.booleans()):
            step, wide = 1, []
            for size in reversed(shape):
                wide.append(step + draw(st.integers(0, 2)))
                step = wide[-1] * max(size, 1)
            strides = tuple(reversed(wide))
        role: Role = draw(st.sampled_from(["in", "out", "inout"]))
        dtype = draw(st.sampled_from(DTYPES))
        tensors.append(Tensor(f"t{number}", dtype, shape, role, strides, draw(st.integers(0, 3))))
    return tensors


def _covered(slot: SlotLayout) -> set[int]:
    """Bytes of the arena that belong to an element of the slot."""
    covered: set[int] = set()
    for placement in slot.plan.placements:
        tensor = placement.tensor
        if tensor.elements == 0:
            continue
        index = torch.arange(tensor.span_bytes // tensor.item_bytes)
        for element in (
            index.as_strided(tensor.shape, tensor.effective_strides, tensor.offset).flatten().tolist()
        ):
            first = slot.start + placement.start + element * tensor.item_bytes
            covered.update(range(first, first + tensor.item_bytes))
    return covered


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_tensors(), st.integers(1, 3), st.data())
def test_every_byte_that_is_no_element_is_guarded(
    tensors: list[Tensor], count: int, data: st.DataObject
) -> None:
    slots = plan(tensors, count)
    assert all(slot.start % ALIGN == 0 for slot in slots)
    for slot in slots:
        for placement in slot.plan.placements:
            assert (slot.start + placement.start) % ALIGN == 0
            assert placement.start >= GUARD
    elements = [_covered(slot) for slot in slots]
    assert sum(map(len, elements)) == len(set().union(*elements))  # no two tensors share a byte
    arena = Arena(slots[-1].end)
    try:
        arena.prepare(slots)
        free = sorted(set(range(slots[-1].end)) - set().union(*elements))
        byte = data.draw(st.sampled_from(free))
        arena.bytes()[byte] = 1
        (found,) = arena.disturbed(slots)
        assert found[0].start <= byte < found[0].end
        assert found[1] in {tensor.name for tensor in tensors}
    finally:
        arena.close()


def test_an_alias_shares_its_owners_memory(arena: Arena) -> None:
    owner = Tensor("x", "float32", (4, 4), "in")
    (slot,) = plan([owner, Tensor("row", "float32", (4,), "in", alias_of="x")], 1)
    arena.prepare([slot])
    views = arena.tensors(slot)
    views["x"][0] = torch.arange(4.0)
    assert views["row"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ([Tensor("x", "float32", (2,), "in"), Tensor("x", "float32", (2,), "out")], "two tensors"),
        ([Tensor("x", "float32", (1,) * 9, "in")], "at most 8"),
        ([Tensor("x", "float32", (-1,), "in")], "negative"),
        ([Tensor("x", "float32", (2, 2), "in", strides=(-2, 1))], "negative"),
        ([Tensor("x", "float32", (2, 2), "in", strides=(1,))], "1 strides for 2"),
        ([Tensor("x", "float32", (2,), "in", alias_of="w")], "must come before"),
        ([Tensor("w", "float32", (1,), "in"), Tensor("x", "float32", (2,), "in", alias_of="w")], "beyond"),
    ],
)
def test_tensors_that_cannot_be_placed(tensors: list[Tensor], says: str) -> None:
    with pytest.raises(LayoutError, match=says):
        plan(tensors, 1)


def test_a_snapshot_does_not_change_with_the_arena(arena: Arena) -> None:
    (slot,) = plan([Tensor("y", "float32", (2, 3), "out", strides=(5, 1))], 1)
    arena.prepare([slot])
    views = arena.tensors(slot)
    copies = snapshot(views)
    assert same_bits(copies["y"], views["y"])  # NaN equals itself, bit by bit
    views["y"].zero_()
    assert bool(copies["y"].isnan().all())
    assert copies["y"].is_contiguous()


def test_closing_waits_for_no_view() -> None:
    arena = Arena(4096)
    view = arena.bytes()
    arena.close()
    arena.close()
    view.fill_(3)
    assert ctypes.string_at(view.data_ptr(), 2) == b"\3\3"
