"""Questions with answers known by construction: the judge builds a layout from its answer, never solves one.

Numbers are taken apart into digits of a mixed radix: digit k has extent r_k and weight r_1 ... r_(k-1).
Dealing the digits out to layouts makes complements and inverses that are right by construction.
"""

from dataclasses import dataclass
from math import prod
from random import Random
from typing import Literal

from .model import Layout, Tree, at, flat, join, modes, rank, size

Operation = Literal["coalesce", "complement", "compose", "logical_divide", "logical_product", "right_inverse"]
SMALL = 5
"""Bits up to which every question can be answered by enumeration."""


@dataclass(frozen=True)
class Question:
    """Arguments of one call and what must come back.

    `modes`: for each top-level mode of the answer the layouts to apply, last first, to its index.
    """

    operation: Operation
    arguments: tuple[Layout | int, ...]
    modes: tuple[tuple[Layout, ...], ...] = ()
    """Empty: the call must raise ValueError."""
    max_rank: int | None = None

    @property
    def admissible(self) -> bool:
        """There is an answer."""
        return bool(self.modes)


def radices(random: Random, bits: int) -> list[int]:
    """Extents of digits, each 2 to 8, whose product is about 2^bits (at least one digit)."""
    chosen = [random.choice((2, 2, 3, 4, 4, 5, 8))]
    while prod(chosen) < 1 << bits:
        chosen.append(random.choice((2, 2, 3, 4, 4, 5, 8)))
    return chosen


def digits(extents: list[int]) -> list[tuple[int, int]]:
    """(extent, weight) of each digit, lowest first."""
    return [(extent, prod(extents[:place])) for place, extent in enumerate(extents)]


def of(pairs: list[tuple[int, int]]) -> Layout:
    """A flat layout of (extent, stride) pairs; 1:0 for none."""
    if not pairs:
        return Layout(1, 0)
    return Layout(tuple(extent for extent, _ in pairs), tuple(stride for _, stride in pairs))


def disguise(random: Random, pairs: list[tuple[int, int]]) -> Layout:
    """The same function with modes split in two, modes of size 1 strewn in, and nesting at random."""
    split: list[tuple[int, int]] = []
    for extent, stride in pairs:
        factors = [factor for factor in range(2, extent) if extent % factor == 0]
        if factors and random.random() < 0.6:
            factor = random.choice(factors)
            split += [(factor, stride), (extent // factor, stride * factor)]
        else:
            split.append((extent, stride))
        if random.random() < 0.3:
            split.append((1, random.choice((0, 1, 7, 64))))
    return _nest(random, of(split)) if len(split) > 1 else of(split)


def _nest(random: Random, layout: Layout) -> Layout:
    leaves = list(zip(flat(layout.shape), flat(layout.stride), strict=True))

    def build(part: list[tuple[int, int]], depth: int) -> tuple[Tree, Tree]:
        if len(part) == 1:
            return part[0]
        cut = random.randrange(1, len(part))
        if depth > 2 or random.random() < 0.4:
            return tuple(extent for extent, _ in part), tuple(stride for _, stride in part)
        left, right = build(part[:cut], depth + 1), build(part[cut:], depth + 1)
        return (left[0], right[0]), (left[1], right[1])

    return Layout(*build(leaves, 0))


def coalesce(random: Random, bits: int) -> Question:
    """A layout whose neighbours cannot be merged, disguised; its rank is the least there is."""
    pairs: list[tuple[int, int]] = []
    for extent in radices(random, bits):
        strides = [0, 1, 2, 3, extent, 5 * extent, 1 << random.randrange(1, 20)]
        merged = pairs[-1][0] * pairs[-1][1] if pairs else -1
        pairs.append((extent, random.choice([stride for stride in strides if stride != merged])))
    layout = disguise(random, pairs)
    return Question("coalesce", (layout,), ((layout,),), max_rank=len(pairs))


def _dealt(random: Random, bits: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int]:
    """Digits of [0, n) dealt to two hands, the first not empty; and n."""
    extents = radices(random, bits)
    places = digits(extents)
    mine = [random.random() < 0.5 for _ in places]
    mine[random.randrange(len(mine))] = True
    return (
        [place for place, chosen in zip(places, mine, strict=True) if chosen],
        [place for place, chosen in zip(places, mine, strict=True) if not chosen],
        prod(extents),
    )


def complement(random: Random, bits: int) -> Question:
    """Half of the digits, in any order; the answer is the other half, in increasing order."""
    mine, others, whole = _dealt(random, bits)
    top = max(extent * weight for extent, weight in mine)
    times = random.choice((1, 1, 2, 3, 5))
    if times > 1:
        others = [*others, (times, whole)]
    # The last multiple of `top` is rounded up to.
    target = whole * times - random.randrange(top)
    random.shuffle(mine)
    layout = disguise(random, mine)
    return Question("complement", (layout, target), ((of(others),),))


def right_inverse(random: Random, bits: int) -> Question:
    """Digits in another order, some of them lost above a gap; the answer puts them back."""
    extents = radices(random, bits)
    places = digits(extents)
    order = list(range(len(places)))
    random.shuffle(order)
    kept = random.randrange(1, len(places) + 1)
    gap = random.choice((2, 3, 16))
    pairs = [(places[k][0], places[k][1] * (gap if k >= kept else 1)) for k in order]
    offsets = {k: prod(extent for extent, _ in pairs[:position]) for position, k in enumerate(order)}
    answer = of([(extents[k], offsets[k]) for k in range(kept)])
    return Question("right_inverse", (disguise(random, pairs),), ((answer,),))


def _outer(random: Random, bits: int) -> tuple[list[int], Layout, Layout]:
    """Extents of the digits of the index of a layout, the layout itself, and the same in disguise."""
    extents = radices(random, bits)
    pairs = [(extent, random.choice((0, 1, 2, 5, 16, 100, 1 << 24))) for extent in extents]
    return extents, of(pairs), disguise(random, pairs)


def compose(random: Random, bits: int) -> Question:
    """The inner layout's modes run over whole digits of the outer one's index."""
    extents, _, layout = _outer(random, bits)
    places = digits(extents)
    random.shuffle(places)
    inner = []
    for _ in range(random.randrange(1, 4)):
        hand = [places.pop() for _ in range(random.randrange(0, 3)) if places]
        inner.append(disguise(random, hand) if hand else Layout(random.choice((1, 3)), 0))
    inner_layout = join(inner) if len(inner) > 1 else inner[0]
    return Question("compose", (layout, inner_layout), tuple((layout, mode) for mode in modes(inner_layout)))


def logical_divide(random: Random, bits: int) -> Question:
    """The tile takes some digits of the index, the rest the others."""
    extents, _, layout = _outer(random, bits)
    places = digits(extents)
    mine = [random.random() < 0.5 for _ in places]
    mine[random.randrange(len(mine))] = True
    hand = [place for place, chosen in zip(places, mine, strict=True) if chosen]
    others = [place for place, chosen in zip(places, mine, strict=True) if not chosen]
    random.shuffle(hand)
    tile = disguise(random, hand)
    return Question("logical_divide", (layout, tile), ((layout, tile), (layout, of(others))))


def logical_product(random: Random, bits: int) -> Question:
    """A tile of some digits, repeated over places whose digits are the free ones and some beyond them."""
    mine, others, _ = _dealt(random, bits // 2)
    top = max(extent * weight for extent, weight in mine)
    free = [(extent, weight) for extent, weight in others if weight < top]
    places = digits([extent for extent, _ in free] + radices(random, bits // 3))
    random.shuffle(places)
    places = places[: random.randrange(1, len(places) + 1)]
    random.shuffle(mine)
    tile, again = disguise(random, mine), disguise(random, places)
    # Beyond the free digits the tile's whole extent is repeated without end.
    rest = of([*free, (1 << 61, top)])
    return Question("logical_product", (tile, again), ((tile,), (rest, again)))


def inadmissible(random: Random, operation: Operation, bits: int) -> Question:
    """Arguments without an answer, each for a reason that can be proved in a line.

    Digits of about 2^bits above it, where there are any, change nothing in the reason.
    """
    stride = random.randrange(1, 9)
    if operation == "compose":
        return _straddling(random, stride, bits)
    extent = random.randrange(2, 9)
    folds = (
        [(extent, stride), (2, 0)],  # two indices, one offset
        [(extent, stride), (extent, stride)],  # the same digit twice
        [(4, 1), (4, random.choice((2, 3)))],  # digits overlap
        [(2, 2), (2, 3)],  # offsets 0, 2, 3 but not 1: no copies of it can fill both 1 and 3
    )
    fold = random.choice(folds)
    reach = 1 + sum((extent - 1) * stride for extent, stride in fold)
    layout = disguise(random, [*fold, *_above(random, reach, bits)])
    if operation == "complement":
        return Question(operation, (layout, 64 << bits))
    if operation == "logical_product":
        return Question(operation, (layout, Layout(4, 1)))
    return Question(operation, (Layout((8, 8 << bits), (1, 16)), layout))


def _straddling(random: Random, stride: int, bits: int) -> Question:
    """A run that ends within the second mode, or steps that straddle the first."""
    first = random.choice((4, 6, 8, 9))
    second = stride * first + random.randrange(1, 9)
    above = [(extent, random.choice((0, 1, 5, 1 << 24))) for extent, _ in _above(random, 1, bits)]
    outer = disguise(random, [(first, stride), (first, second), *above])
    inner = random.choice((Layout(first + 1, 1), Layout(2 * first - 1, 1), Layout(3, first - 1)))
    if above:
        inner = join([inner, Layout(above[0][0], first * first)])
    return Question("compose", (outer, inner))


def _above(random: Random, reach: int, bits: int) -> list[tuple[int, int]]:
    """Digits whose weights are multiples of `reach`; none for a few bits."""
    if bits <= SMALL:
        return []
    return [(extent, reach * weight) for extent, weight in digits(radices(random, bits))]


MAKERS = {
    "coalesce": coalesce,
    "complement": complement,
    "compose": compose,
    "logical_divide": logical_divide,
    "logical_product": logical_product,
    "right_inverse": right_inverse,
}

__all__ = ["MAKERS", "Layout", "Operation", "Question", "at", "inadmissible", "rank", "size"]
