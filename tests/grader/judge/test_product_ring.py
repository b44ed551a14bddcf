"""A ring of products on a CPU: Freivalds's test sees every slot, and the oracle is asked seldom."""

from collections.abc import Iterator, Sequence

import pytest

from grader import fills
from grader.judge import layout
from grader.judge.arena import Arena
from grader.judge.audit import Comparison
from grader.judge.ring import Ring
from grader.task import Case, Cost, FunctionTask, Params, Product, Slot, Tensor, Tolerance

COUNT = 24
TENSORS = [
    Tensor("a", "float32", (33, 64), "in"),
    Tensor("b", "float32", (48, 64), "in"),
    Tensor("c", "float32", (33, 48), "out"),
]
CASE = Case("product", "product", "public", "timed", {}, tolerance={"c": Tolerance(4e-6, 2e-6, 3e-5)})
Made = tuple[Ring, Arena, Sequence[layout.SlotLayout], list[int]]


@pytest.fixture
def made() -> Iterator[Made]:
    asked: list[int] = []

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
        for slot, seed in zip(slots, seeds, strict=True):
            for name, tensor in slot.items():
                fills.uniform(tensor, seed, name)

    def oracle(params: Params, inputs: Slot) -> Slot:
        asked.append(1)
        return {"c": inputs["a"].double() @ inputs["b"].double().T}

    task = FunctionTask(
        tensors=lambda _params: TENSORS,
        fill=fill,
        oracle=oracle,
        cost=lambda _params: Cost(dram_bytes=1.0),
        product=Product("a", "b", "c", transposed=True),
    )
    slots = layout.plan(TENSORS, COUNT)
    arena = Arena(slots[-1].end)
    ring = Ring(arena, slots, task, CASE)
    ring.provide(COUNT)
    for slot in slots:
        views = arena.tensors(slot)
        views["c"].copy_(views["a"].double() @ views["b"].double().T)
    yield ring, arena, slots, asked
    ring.close()
    arena.close()


def test_right_products_are_seldom_asked_about(made: Made) -> None:
    ring, _arena, _slots, asked = made
    (result,) = ring.audit(range(COUNT))
    assert result.passed
    assert result.elements == COUNT * 33 * 48
    assert 1 <= len(asked) <= COUNT // 2


def test_a_wrong_row_of_any_slot_is_found_and_named(made: Made) -> None:
    ring, arena, slots, _asked = made
    arena.tensors(slots[17])["c"][5, 7] += 0.5
    results: list[Comparison] = ring.audit(range(COUNT))
    (result,) = results
    assert not result.passed
    assert result.first_wrong is not None
    assert result.first_wrong.index == (5, 7)
