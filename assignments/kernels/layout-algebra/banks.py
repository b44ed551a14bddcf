"""Price of shared-memory accesses: 32 banks of 4 bytes, one word a bank and cycle, equal words together."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

BANKS, WORD = 32, 4
Access = tuple[int, Sequence[tuple[int, int]]]
"""Bytes that each thread moves (4, 8 or 16), and (row, column in bytes) of each of its 32 threads."""


@dataclass(frozen=True)
class Tile:
    """A row-major tile in shared memory: rows of `pitch` bytes, a power of two."""

    rows: int
    pitch: int


def swizzled(bits: int, base: int, shift: int, address: int) -> int:
    """XOR the `bits` bits of the address above base + shift into those above `base`."""
    mask = ((1 << bits) - 1) << (base + shift)
    return address ^ ((address & mask) >> shift)


def cycles(tile: Tile, access: Access, swizzle: tuple[int, int, int]) -> int:
    """Cycles of one warp's access. The hardware serves 128 bytes at a time: 32, 16 or 8 threads."""
    width, places = access
    total = 0
    together = BANKS * WORD // width
    for first in range(0, len(places), together):
        words: dict[int, set[int]] = defaultdict(set)
        for row, column in places[first : first + together]:
            address = swizzled(*swizzle, row * tile.pitch + column)
            for word in range(address // WORD, (address + width) // WORD):
                words[word % BANKS].add(word)
        total += max(map(len, words.values()))
    return total


def bound(access: Access) -> int:
    """Least cycles of any layout: distinct bytes of each 128-byte service over 128, rounded up."""
    width, places = access
    together = BANKS * WORD // width
    return sum(
        -(-len(set(places[first : first + together])) * width // (BANKS * WORD))
        for first in range(0, len(places), together)
    )


def rows_of(tile: Tile, width: int, first: int) -> Access:
    """A warp reads along rows, as a copy from global memory does."""
    per_row = tile.pitch // width
    return width, [((first + t // per_row) % tile.rows, t % per_row * width) for t in range(32)]


def columns_of(tile: Tile, width: int, column: int) -> Access:
    """Each thread takes one row at the same column, as a transposition does."""
    return width, [(t % tile.rows, column * width % tile.pitch) for t in range(32)]


def matrices(tile: Tile, row: int, column: int) -> Access:
    """Four 8 x 16-byte matrices, as ldmatrix.x4 reads them: two below and two beside each other."""
    places = []
    for t in range(32):
        matrix, line = divmod(t, 8)
        places.append(((row + matrix % 2 * 8 + line) % tile.rows, (column + matrix // 2 * 16) % tile.pitch))
    return 16, places
