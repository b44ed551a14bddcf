"""Layouts as functions: how they cross the wire, and what they map. Nothing here solves an exercise.

A layout is a pair (shape, stride) of integers or equally nested tuples of them. It maps a linear index, taken
apart over the flattened shape with the first mode fastest, to the sum of coordinate times stride.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from grader.task import Json

Tree: TypeAlias = "int | tuple[Tree, ...]"
MAX_MODES = 64
MAX_DEPTH = 8
MAX_VALUE = 1 << 62


class Layout(NamedTuple):
    """Shape (positive) and stride (not negative), nested alike."""

    shape: Tree
    stride: Tree


class MalformedError(ValueError):
    """An answer is no layout; the two texts (en, zh) say what is wrong with it."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh


def flat(tree: Tree) -> tuple[int, ...]:
    """The leaves in order."""
    return (tree,) if isinstance(tree, int) else tuple(leaf for branch in tree for leaf in flat(branch))


def size(layout: Layout) -> int:
    """Number of indices."""
    return prod(flat(layout.shape))


def rank(layout: Layout) -> int:
    """Number of leaves."""
    return len(flat(layout.shape))


def modes(layout: Layout) -> list[Layout]:
    """Top-level modes; a layout whose shape is one integer is its own single mode."""
    if isinstance(layout.shape, int) or isinstance(layout.stride, int):
        return [layout]
    return [Layout(shape, stride) for shape, stride in zip(layout.shape, layout.stride, strict=True)]


Leaves: TypeAlias = Sequence[tuple[int, int]]


def leaves(layout: Layout) -> Leaves:
    """(extent, stride) of each mode without its nesting."""
    return list(zip(flat(layout.shape), flat(layout.stride), strict=True))


def at(layout: Layout, index: int) -> int:
    """Offset of a linear index in [0, size)."""
    return along([leaves(layout)], index)


def along(chain: Sequence[Leaves], index: int) -> int:
    """Offset of a linear index under one layout after the other, the first one first."""
    for pairs in chain:
        offset = 0
        for extent, stride in pairs:
            index, coordinate = divmod(index, extent)
            offset += coordinate * stride
        index = offset
    return index


def join(layouts: Sequence[Layout]) -> Layout:
    """One layout that has these as its modes."""
    return Layout(tuple(one.shape for one in layouts), tuple(one.stride for one in layouts))


def encode(layout: Layout) -> Json:
    """As JSON: {"shape": ..., "stride": ...} with nested lists."""
    return {"shape": _lists(layout.shape), "stride": _lists(layout.stride)}


def decode(value: object) -> Layout:
    """From JSON. Raises MalformedError with the first fault."""
    if not isinstance(value, dict) or set(value) != {"shape", "stride"}:
        raise MalformedError("it is not a pair (shape, stride)", "它不是 (shape, stride) 对")
    shape = _tree(value["shape"], 1, "shape", 0)
    stride = _tree(value["stride"], 0, "stride", 0)
    if not _alike(shape, stride):
        raise MalformedError(
            f"shape {shape} and stride {stride} are not nested alike",
            f"shape {shape} 与 stride {stride} 的嵌套不一致",
        )
    if len(flat(shape)) > MAX_MODES:
        raise MalformedError(f"it has more than {MAX_MODES} modes", f"它的模式多于 {MAX_MODES} 个")
    return Layout(shape, stride)


def show(layout: Layout) -> str:
    """As people write it: (2,(3,4)):(1,(2,8))."""
    return f"{layout.shape}:{layout.stride}".replace(" ", "")


def _lists(tree: Tree) -> Json:
    return tree if isinstance(tree, int) else [_lists(branch) for branch in tree]


def _tree(value: object, least: int, name: str, depth: int) -> Tree:
    if isinstance(value, bool) or not isinstance(value, int | list) or depth > MAX_DEPTH:
        raise MalformedError(
            f"its {name} is not made of integers and tuples", f"它的 {name} 不是由整数和元组组成的"
        )
    if isinstance(value, int):
        if not least <= value <= MAX_VALUE:
            raise MalformedError(
                f"its {name} holds {value}; {least} to 2^62 are allowed",
                f"它的 {name} 含有 {value}；允许的范围是 {least} 到 2^62",
            )
        return value
    if len(value) > MAX_MODES:
        raise MalformedError(f"it has more than {MAX_MODES} modes", f"它的模式多于 {MAX_MODES} 个")
    return tuple(_tree(branch, least, name, depth + 1) for branch in value)


def _alike(first: Tree, second: Tree) -> bool:
    if isinstance(first, int) or isinstance(second, int):
        return isinstance(first, int) and isinstance(second, int)
    return len(first) == len(second) and all(map(_alike, first, second))
