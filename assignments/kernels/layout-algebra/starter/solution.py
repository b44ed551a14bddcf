"""Layout algebra and swizzles. Hand in with: solmark grade kernels/layout-algebra solution.py

A layout is a pair (shape, stride) of integers or equally nested tuples. Raise ValueError where there is no answer.
"""


def coalesce(layout):
    """The same function with the least number of modes."""
    raise NotImplementedError


def complement(layout, target):
    """The increasing layout that completes `layout` to a range of at least `target` offsets."""
    raise NotImplementedError


def compose(outer, inner):
    """index -> outer(inner(index)), with the top-level modes of inner."""
    raise NotImplementedError


def logical_divide(layout, tile):
    """Two modes: layout after the tile, and layout after the tile's complement in size(layout)."""
    raise NotImplementedError


def logical_product(tile, places):
    """Two modes: the tile, and the tile's complement after `places`."""
    raise NotImplementedError


def right_inverse(layout):
    """The largest layout R with layout(R(index)) == index."""
    raise NotImplementedError


def pick_swizzle(rows, pitch, accesses):
    """(bits, base, shift) for a tile of `rows` rows of `pitch` bytes; accesses: [(bytes, [(row, byte), ...32])]."""
    raise NotImplementedError
