"""K09: the reference and the judge against brute force over made-up layouts, the cap on steps, the bound."""

import importlib
import importlib.util
import itertools
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grader.assignment import load
from grader.task import DialogueTask

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "assignments/kernels/layout-algebra"


def imported(path: Path) -> Any:
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


ASSIGNMENT = load(FOLDER)
TASK: Any = importlib.import_module(ASSIGNMENT.parts()["algebra"].episode.__module__)  # type: ignore[union-attr]
questions: Any = TASK.questions
model: Any = TASK.model
banks: Any = TASK.banks
ADAPTER: Any = importlib.import_module(f"{TASK.__package__}.adapter")
REFERENCE: Any = imported(CHECKOUT / "reference/kernels/layout-algebra/shared/layouts.py")
SEEDS = st.integers(0, 2**64)
SIZES = st.sampled_from((3, 7))
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


@st.composite
def layouts(draw: Any, most: int = 48) -> Any:
    """Any small layout: nested at will, with strides 0 and modes of size 1, overlapping or not."""
    tree = st.recursive(
        st.tuples(st.integers(1, 5), st.sampled_from((0, 1, 2, 3, 4, 5, 6, 8, 12, 16))),
        lambda branch: st.lists(branch, min_size=1, max_size=3),
        max_leaves=4,
    )

    def half(part: Any, which: int) -> Any:
        return part[which] if isinstance(part, tuple) else tuple(half(branch, which) for branch in part)

    drawn = draw(tree)
    layout = model.Layout(half(drawn, 0), half(drawn, 1))
    assume(model.size(layout) <= most)
    return layout


def answered(operation: str, *arguments: Any) -> Any:
    """What the reference gives through the adapter: a layout, None if it raises ValueError."""
    message = [[one if isinstance(one, int) else model.encode(one) for one in arguments]]
    (reply,) = ADAPTER.answer(REFERENCE, operation, message)
    if reply.get("raised") == "ValueError":
        return None
    return model.decode(reply)


def made(operation: str, seed: int) -> Any:
    return questions.MAKERS[operation](Random(seed), Random(seed).randrange(1, 4))


# --- the reference, held against brute force on layouts that nobody chose ----------------------------------


@given(layouts())
@settings(max_examples=150, deadline=None)
def test_coalesce_of_any_layout(layout: Any) -> None:
    found = answered("coalesce", layout)
    assert values(found) == values(layout)
    assert model.rank(found) == fewest_modes(values(layout))


@given(layouts(24), st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_complement_of_any_layout(layout: Any, target: int) -> None:
    found = answered("complement", layout, target)
    offsets = sorted(values(layout))
    if found is None:
        assert len(set(offsets)) < len(offsets) or not tiles(offsets)
        return
    rest = values(found)
    count = len(rest) * len(offsets)
    assert sorted(a + b for a, b in itertools.product(offsets, rest)) == list(range(count))
    assert rest == sorted(rest)
    assert count >= target
    assert not any(fills(offsets, whole) for whole in range(max(target, len(offsets)), count))


@given(layouts(), layouts(24))
@settings(max_examples=150, deadline=None)
def test_composition_of_any_two_layouts(outer: Any, inner: Any) -> None:
    """Of those that may be composed: within the outer one, without a carry between the inner one's modes."""
    assume(max(values(inner)) < model.size(outer))
    leaves = list(zip(model.flat(inner.shape), model.flat(inner.stride), strict=True))
    alone = [[model.at(outer, at * stride) for at in range(extent)] for extent, stride in reversed(leaves)]
    assume([sum(point) for point in itertools.product(*alone)] == [values(outer)[at] for at in values(inner)])
    found = answered("compose", outer, inner)
    if found is None:
        return  # The usual conditions of divisibility may refuse more than has no answer.
    offsets = values(outer)
    wanted = [[offsets[index] for index in values(mode)] for mode in model.modes(inner)]
    assert [values(mode) for mode in parts(found, len(wanted))] == wanted


@given(layouts())
@settings(max_examples=150, deadline=None)
def test_right_inverse_of_any_layout_that_is_one_to_one(layout: Any) -> None:
    forward = values(layout)
    assume(len(set(forward)) == len(forward))
    inverse = values(answered("right_inverse", layout))
    assert [forward[index] for index in inverse] == list(range(len(inverse)))
    longest = next(number for number in itertools.count() if number not in set(forward))
    places = [forward.index(number) for number in range(longest)]
    assert not any(is_layout(places[:size]) for size in range(len(inverse) + 1, longest + 1))


@given(SEEDS, st.sampled_from(sorted(questions.MAKERS)), layouts(), st.integers(0, 30), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_the_judge_takes_exactly_the_answers_that_brute_force_finds_right(
    seed: int, operation: str, other: Any, leaf: int, change: int
) -> None:
    question = made(operation, seed)
    right = answered(operation, *question.arguments)
    answer = other if change == 3 else right if change == 2 else disturbed(right, leaf, change)
    found = [values(mode) for mode in parts(answer, len(question.modes))]
    wanted = found == answers(question) and model.rank(answer) <= (question.max_rank or model.rank(answer))
    assert (TASK.check(question, model.encode(answer), Random(seed)) is None) is wanted


def parts(layout: Any, count: int) -> list[Any]:
    """Top-level modes; all of them as one where one is asked for."""
    return [layout] if count == 1 else model.modes(layout)


def disturbed(layout: Any, leaf: int, which: int) -> Any:
    """The layout with 1 added to a leaf of its shape (0) or stride (1)."""
    count = itertools.count(-(leaf % model.rank(layout)))

    def build(tree: Any) -> Any:
        return tree + (next(count) == 0) if isinstance(tree, int) else tuple(map(build, tree))

    return layout._replace(**{("shape", "stride")[which]: build(layout[which])})


def is_layout(offsets: Sequence[int]) -> bool:
    """Whether some layout maps like this."""
    for extents in factorizations(len(offsets)):
        at = itertools.accumulate([1, *extents[:-1]], int.__mul__) if extents else []
        layout = model.Layout(tuple(extents) or 1, tuple(offsets[place] for place in at) or 0)
        if values(layout) == list(offsets):
            return True
    return False


def fills(offsets: Sequence[int], whole: int) -> bool:
    """Whether shifts of the offsets fill exactly [0, whole)."""
    covered = 0
    while covered != (1 << whole) - 1:
        first = (~covered & (covered + 1)).bit_length() - 1
        copy = sum(1 << (first + offset) for offset in offsets)
        if covered & copy or copy >> whole:
            return False
        covered |= copy
    return True


def test_a_call_has_a_cap_on_its_steps_that_enumeration_passes() -> None:
    class Enumerates:
        @staticmethod
        def coalesce(layout: Any) -> Any:
            for _ in range(model.size(model.Layout(*layout))):
                pass
            return layout

    question = questions.coalesce(Random(1), 40)
    (reply,) = ADAPTER.answer(Enumerates, "coalesce", [[model.encode(question.arguments[0])]])
    assert reply["raised"] == ADAPTER.TOO_MANY
    fault = TASK.check(question, reply, Random(1))
    modes = model.rank(question.arguments[0])
    assert f"more than {ADAPTER.cap(modes)} steps for {modes} modes" in fault[0]
    assert str(ADAPTER.cap(modes)) in fault[1]


@given(SEEDS, st.sampled_from(sorted(questions.MAKERS)))
@settings(max_examples=60, deadline=None)
def test_the_reference_stays_far_below_the_cap(seed: int, operation: str) -> None:
    question = questions.MAKERS[operation](Random(seed), 44)
    steps = 0

    def count(_frame: Any, event: str, _value: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    arguments = [one if isinstance(one, int) else (one.shape, one.stride) for one in question.arguments]
    before = sys.gettrace()
    sys.settrace(count)
    try:
        getattr(REFERENCE, operation)(*arguments)
    finally:
        sys.settrace(before)
    modes = sum(1 if isinstance(one, int) else model.rank(one) for one in question.arguments)
    assert steps < ADAPTER.cap(modes) / 5


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"shape": [2, 2], "stride": 1}, "are not nested alike"),
        ({"shape": [0, 2], "stride": [1, 2]}, "its shape holds 0"),
        ({"shape": 2, "stride": -1}, "its stride holds -1"),
        ({"shape": 2.5, "stride": 1}, "its shape is not made of integers"),
        ({"shape": True, "stride": 1}, "its shape is not made of integers"),
        ({"shape": [1] * 65, "stride": [0] * 65}, "more than 64 modes"),
        ({"shape": 2}, "it is not a pair"),
        ({"returned": "[0, 1]"}, "returned [0, 1]; a pair (shape, stride)"),
        ({"raised": "KeyError", "text": "'a'"}, "raised KeyError: 'a'"),
        ({"raised": "ValueError", "text": ""}, "there is an answer"),
    ],
)
def test_what_is_wrong_with_an_answer_is_named(answer: Any, wanted: str) -> None:
    fault = TASK.check(made("compose", 3), answer, Random(1))
    assert wanted in fault[0]
    assert re.search("[\u4e00-\u9fff]", fault[1])


class OfItsOwn:
    """Something that cannot even be shown."""

    def __repr__(self) -> str:
        raise KeyError("text")


DEEP: Any = 1
for _ in range(2000):
    DEEP = (DEEP,)


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        ((2.7, 1), "returned (2.7, 1); a pair (shape, stride) of integers"),
        ((4.0, 1.0), "returned (4.0, 1.0)"),
        (("4", "1"), "returned ('4', '1')"),
        ((4, (1, 2)), "are not nested alike"),
        (((2, -2), (1, 2)), "its shape holds -2"),
        (None, "returned None"),
        ((1, 2, 3), "returned (1, 2, 3)"),
        (([1] * 2, {1: 2}), "returned ([1, 1], {1: 2})"),
        (OfItsOwn(), "returned a OfItsOwn"),
        ((DEEP, DEEP), "returned a tuple"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_what_a_submission_returns_is_taken_as_it_is(returned: Any, wanted: str) -> None:
    """Through the adapter: nothing is cut to an integer on the way."""

    class Submission:
        @staticmethod
        def compose(_outer: Any, _inner: Any) -> Any:
            return returned

    question = made("compose", 3)
    message = [[model.encode(one) for one in question.arguments]]
    (reply,) = ADAPTER.answer(Submission, "compose", message)
    assert wanted in TASK.check(question, reply, Random(1))[0]


@pytest.mark.parametrize(
    "returned", [(3.7, 4, 3), ("3", "4", "3"), "343", None, 5, (float("nan"), 4, 3), (3, 4)]
)
def test_a_swizzle_is_taken_as_it_is(returned: Any) -> None:
    class Submission:
        @staticmethod
        def pick_swizzle(_rows: int, _pitch: int, _accesses: Any) -> Any:
            return returned

    reply = ADAPTER.answer(Submission, "pick_swizzle", {"rows": 64, "pitch": 128, "accesses": []})
    tile = banks.Tile(64, 128)
    fault = TASK._invalid(tile, TASK._accesses(tile, "matrix", Random(1)), reply)
    shown = list(returned) if returned == (3, 4) else repr(returned)
    assert f"three integers (bits, base, shift) from 0 to 32, not {shown}." in fault[0]


def test_an_answer_to_what_has_none_is_refused() -> None:
    for operation in ("complement", "compose", "logical_divide", "logical_product"):
        question = questions.inadmissible(Random(1), operation, 40)
        fault = TASK.check(question, {"shape": 4, "stride": 1}, Random(1))
        assert "there is no answer: raise ValueError" in fault[0]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ([3, 4], "three integers"),
        ([3, 4, "3"], "three integers"),
        ([3, -4, 3], "three integers"),
        ([3, 4, 2], "at least the number of bits"),
        ([3, 20, 3], "out of the tile"),
        ([3, 2, 5], "tears pieces of 16 bytes apart"),
    ],
)
def test_what_is_wrong_with_a_swizzle_is_named(reply: Any, wanted: str) -> None:
    tile = banks.Tile(64, 128)
    fault = TASK._invalid(tile, TASK._accesses(tile, "matrix", Random(1)), reply)
    assert wanted in fault[0]
    assert re.search("[\u4e00-\u9fff]", fault[1])


@pytest.mark.parametrize("operation", sorted(questions.MAKERS))
def test_every_operation_is_asked_beyond_what_can_be_enumerated(operation: str) -> None:
    """In public and in hidden cases; what has no answer too, where there is such a thing."""
    refused = operation not in ("coalesce", "right_inverse")
    for cases in (ASSIGNMENT.spec.cases, ASSIGNMENT.hidden):
        own = [case.params for case in cases if case.params.get("operation") == operation]
        sizes = [one["bits"]["range"][1] if isinstance(one["bits"], dict) else one["bits"] for one in own]
        assert max(sizes) >= 40
        assert min(sizes) <= questions.SMALL
        assert all(bool(one.get("refused")) is refused for one in own)


# --- the judge's questions ---------------------------------------------------------------------------------


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


@given(SEEDS, st.sampled_from(["complement", "compose", "logical_divide", "logical_product"]), SIZES)
@settings(max_examples=120, deadline=None)
def test_what_must_be_refused_has_no_answer(seed: int, operation: str, bits: int) -> None:
    """Small ones, and those with digits above them."""
    question = questions.inadmissible(Random(seed), operation, bits)
    assert answered(operation, *question.arguments) is None
    if operation != "compose":
        tile = question.arguments[operation == "logical_divide"]
        assert bits <= questions.SMALL or model.size(tile) >= 1 << bits
        offsets = sorted(values(tile))
        assert len(set(offsets)) < len(offsets) or not tiles(offsets)
        return
    outer, inner = question.arguments
    assert bits <= questions.SMALL or model.size(outer) >= 1 << bits
    offsets = values(outer)
    assert max(values(inner)) < len(offsets)
    first = inner if bits <= questions.SMALL else model.modes(inner)[0]
    assert not is_layout([offsets[index] for index in values(first)])


@given(SEEDS, st.sampled_from(["complement", "compose", "logical_divide", "logical_product"]))
@settings(max_examples=60, deadline=None)
def test_what_must_be_refused_is_as_large_as_what_has_an_answer(seed: int, operation: str) -> None:
    question = questions.inadmissible(Random(seed), operation, 40)
    assert max(model.size(one) for one in question.arguments if not isinstance(one, int)) >= 1 << 40
    assert answered(operation, *question.arguments) is None


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
