"""K09: the judge's answers against brute force over made-up layouts, its bound, its pages, real gradings."""

import importlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import load
from grader.check import run
from grader.check.finding import State
from grader.sandbox import registry
from grader.task import DialogueTask

FOLDER = Path(__file__).parents[2] / "assignments/kernels/layout-algebra"
ASSIGNMENT = load(FOLDER)
TASK: Any = importlib.import_module(ASSIGNMENT.parts()["algebra"].episode.__module__)  # type: ignore[union-attr]
questions: Any = TASK.questions
model: Any = TASK.model
banks: Any = TASK.banks
SEEDS = st.integers(0, 2**64)
SWIZZLES = st.tuples(st.integers(0, 3), st.integers(4, 6), st.integers(3, 5))


def values(layout: Any) -> list[int]:
    """All offsets of a layout, by its definition: every coordinate, the first one fastest."""
    shape, stride = model.flat(layout.shape), model.flat(layout.stride)
    coordinates = itertools.product(*(range(extent) for extent in reversed(shape)))
    return [sum(map(int.__mul__, reversed(point), stride)) for point in coordinates]


def answers(question: Any) -> list[list[int]]:
    """What each top-level mode of the answer must map to."""
    found = []
    for chain in question.modes:
        mode = []
        for index in range(model.size(chain[-1])):
            value = index
            for layout in reversed(chain):
                value = model.at(layout, value)
            mode.append(value)
        found.append(mode)
    return found


def made(operation: str, seed: int) -> Any:
    return questions.MAKERS[operation](Random(seed), Random(seed).randrange(1, 4))


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_coalesce_keeps_the_function_in_the_fewest_modes(seed: int) -> None:
    question = made("coalesce", seed)
    (layout,) = question.arguments
    (expected,) = answers(question)
    assert expected == values(layout)
    assert fewest_modes(expected) == question.max_rank


def fewest_modes(offsets: Sequence[int]) -> int:
    """By trying every way to write a list of offsets as a layout."""
    count = len(offsets)
    if count == 1:
        return 1
    best = count
    for extents in factorizations(count):
        strides, at = [], 1
        for extent in extents:
            strides.append(offsets[at])
            at *= extent
        if values(model.Layout(tuple(extents), tuple(strides))) == list(offsets):
            best = min(best, len(extents))
    return best


def factorizations(number: int) -> list[list[int]]:
    """Ordered factorizations into factors above 1."""
    if number == 1:
        return [[]]
    return [
        [factor, *rest]
        for factor in range(2, number + 1)
        if number % factor == 0
        for rest in factorizations(number // factor)
    ]


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_complement_fills_the_range_and_no_smaller_one_does(seed: int) -> None:
    question = made("complement", seed)
    layout, target = question.arguments
    (rest,) = answers(question)
    together = sorted(a + b for a, b in itertools.product(values(layout), rest))
    assert together == list(range(len(together)))
    assert len(together) >= target
    assert rest == sorted(set(rest))
    # The range is made of whole repetitions of the layout's own reach; one less would not do.
    unit = max(
        e * s for e, s in zip(model.flat(layout.shape), model.flat(layout.stride), strict=True) if e > 1
    )
    assert len(together) % unit == 0
    assert len(together) - unit < target


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_composition_is_composition(seed: int) -> None:
    question = made("compose", seed)
    outer, inner = question.arguments
    outside = values(outer)
    assert answers(question) == [[outside[index] for index in values(mode)] for mode in model.modes(inner)]


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_right_inverse_puts_every_index_back_and_is_the_largest(seed: int) -> None:
    question = made("right_inverse", seed)
    (layout,) = question.arguments
    (inverse,) = answers(question)
    forward = values(layout)
    assert [forward[index] for index in inverse] == list(range(len(inverse)))
    assert len(set(forward)) == len(forward)
    longest = next(number for number in itertools.count() if number not in set(forward))
    assert len(inverse) <= longest


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_divide_and_product_are_tile_and_rest(seed: int) -> None:
    divide = made("logical_divide", seed)
    layout, tile = divide.arguments
    inside, outside = answers(divide)
    whole = values(layout)
    assert inside == [whole[index] for index in values(tile)]
    if len(set(whole)) == len(whole):
        # Every offset of the layout is met, each once for every repetition of the tile.
        assert len(inside) * len(outside) >= len(whole)
    product = made("logical_product", seed)
    first, _ = product.arguments
    tile_offsets, places = answers(product)
    assert tile_offsets == values(first)
    apart = [a + b for a, b in itertools.product(tile_offsets, sorted(set(places)))]
    assert len(set(apart)) == len(apart)  # copies of the tile never overlap


@given(SEEDS, st.sampled_from(["complement", "compose"]))
@settings(max_examples=60, deadline=None)
def test_what_must_be_refused_has_no_answer(seed: int, operation: str) -> None:
    question = questions.inadmissible(Random(seed), operation)
    if operation == "complement":
        offsets = values(question.arguments[0])
        assert len(set(offsets)) < len(offsets) or not tiles(sorted(offsets))
        return
    outer, inner = question.arguments
    reached = values(inner)
    # An index beyond the outer layout goes on in its last mode; within it, no layout maps like this.
    size = model.size(outer)
    assert (
        max(reached) >= size or fewest_modes([values(outer)[index] for index in reached]) == len(reached) > 2
    )


def tiles(offsets: Sequence[int]) -> bool:
    """Whether shifts of the offsets fill some range [0, K) with K up to 8 times their reach."""
    covered = 0
    for _ in range(8 * (offsets[-1] + 1)):
        first = next(bit for bit in itertools.count() if not covered >> bit & 1)
        copy = sum(1 << (first + offset) for offset in offsets)
        if covered & copy:
            return False
        covered |= copy
        if covered & (covered + 1) == 0:
            return True
    return False


@given(SEEDS, SWIZZLES, st.sampled_from(["matrix", "transpose"]))
@settings(max_examples=40, deadline=None)
def test_no_swizzle_beats_the_bound(seed: int, swizzle: tuple[int, int, int], pattern: str) -> None:
    random = Random(seed)
    tile = banks.Tile(random.choice((16, 32, 64)), random.choice((64, 128, 256)))
    for access in TASK._accesses(tile, pattern, random):
        width, places = access
        served = 128 // width
        touched = [len(set(places[first : first + served])) * width for first in range(0, 32, served)]
        assert banks.bound(access) == sum(-(-size // 128) for size in touched)
        assert banks.cycles(tile, access, swizzle) >= banks.bound(access)


def test_everything_but_the_gradings_holds() -> None:
    findings = list(run.check(FOLDER, run.Options(registry.choose("bubblewrap"), grade=False)))
    assert [one for one in findings if one.state is State.FAILS] == []


def test_the_reference_reaches_the_bound_and_a_cheat_does_not_pass() -> None:
    labels = ("solution.py", "wrong/cheat_refuses_what_is_large.py")
    options = run.Options(registry.choose("bubblewrap"), only=lambda solution: solution.label in labels)
    findings = list(run.check(FOLDER, options))
    assert [one for one in findings if one.state is State.FAILS] == []
    assert {one.subject for one in findings if one.seconds is not None} >= set(labels)


@pytest.mark.parametrize("pattern", ["matrix", "transpose"])
def test_the_best_swizzle_of_the_timed_cases_reaches_the_bound(pattern: str) -> None:
    """All swizzles that fit, tried on the accesses of the timed cases."""
    for case in ASSIGNMENT.cases("cpu", bytes(16)):
        if case.role != "timed" or case.params["pattern"] != pattern:
            continue
        tile = banks.Tile(case.params["rows"], case.params["pitch"])
        accesses = TASK._accesses(tile, pattern, Random(1))
        tried = [(b, low, s) for b in range(6) for low in (2, 4) for s in range(max(1, b), 8)]
        fitting = [one for one in tried if TASK._invalid(tile, accesses, list(one)) is None]
        best = min(sum(banks.cycles(tile, access, one) for access in accesses) for one in fitting)
        assert best == sum(map(banks.bound, accesses))


def test_both_parts_are_dialogues() -> None:
    assert all(isinstance(part, DialogueTask) for part in ASSIGNMENT.parts().values())
