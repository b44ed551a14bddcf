"""Layout algebra on modes alone, never on indices: the cost depends on the number of modes, not on sizes."""

from math import prod


def flat(tree):
    return (tree,) if isinstance(tree, int) else tuple(leaf for branch in tree for leaf in flat(branch))


def pairs(layout):
    return list(zip(flat(layout[0]), flat(layout[1])))


def of(modes):
    modes = list(modes)
    if not modes:
        return 1, 0
    if len(modes) == 1:
        return modes[0]
    return tuple(extent for extent, _ in modes), tuple(stride for _, stride in modes)


def merged(modes):
    result = []
    for extent, stride in modes:
        if extent == 1:
            continue
        if result and stride == result[-1][0] * result[-1][1]:
            result[-1] = (result[-1][0] * extent, result[-1][1])
        else:
            result.append((extent, stride))
    return result


def size(layout):
    return prod(flat(layout[0]))


def coalesce(layout):
    return of(merged(pairs(layout)))


def complement(layout, target):
    result, reached = [], 1
    for extent, stride in sorted(
        ((extent, stride) for extent, stride in pairs(layout) if extent > 1), key=lambda mode: mode[1]
    ):
        if stride == 0 or stride % reached:
            raise ValueError("the layout does not tile a range")
        result.append((stride // reached, reached))
        reached = stride * extent
    result.append((-(-target // reached), reached))
    return of(merged(result))


def composed(outer, extent, stride):
    """Modes of outer after extent:stride; outer is a list of merged modes."""
    if extent == 1 or stride == 0:
        return [(extent, 0)]
    result, left, step = [], extent, stride
    for position, (size_, stride_) in enumerate(outer):
        last = position == len(outer) - 1
        if step % size_ == 0 and not last:
            step //= size_
            continue
        if not last and size_ % step:
            raise ValueError("the stride straddles a mode")
        room = left if last else min(left, size_ // step)
        if left % room:
            raise ValueError("the extent ends within a mode")
        result.append((room, step * stride_))
        left //= room
        step = 1
        if left == 1:
            break
    if not outer:
        return [(extent, 0)]
    return merged(result) or [(extent, 0)]


def compose(outer, inner):
    modes = merged(pairs(outer))

    def one(shape, stride):
        if isinstance(shape, int):
            return of(composed(modes, shape, stride))
        parts = [one(*part) for part in zip(shape, stride)]
        return tuple(part[0] for part in parts), tuple(part[1] for part in parts)

    return one(*inner)


def logical_divide(layout, tile):
    rest = complement(tile, size(layout))
    return compose(layout, ((tile[0], rest[0]), (tile[1], rest[1])))


def cosize(layout):
    return 1 + sum((extent - 1) * stride for extent, stride in pairs(layout))


def logical_product(tile, places):
    free = complement(tile, size(tile) * cosize(places))
    again = compose(free, places)
    return (tile[0], again[0]), (tile[1], again[1])


def right_inverse(layout):
    result, reached, position = [], 1, 1
    places = []
    for extent, stride in pairs(layout):
        places.append((stride, extent, position))
        position *= extent
    for stride, extent, position in sorted(place for place in places if place[1] > 1):
        if stride == reached:
            result.append((extent, position))
            reached *= extent
    return of(merged(result))


def pick_swizzle(rows, pitch, accesses):
    """The widest pieces stay whole; all fields that fit are tried, the cheapest is taken."""
    base = max(width for width, _ in accesses).bit_length() - 1
    top = (rows * pitch).bit_length() - 1
    candidates = [(0, base, 0)] + [
        (bits, low, shift)
        for low in range(base, 7)
        for bits in range(1, min(6, top - low + 1))
        for shift in range(bits, top - low)
    ]
    return min(candidates, key=lambda swizzle: sum(cycles(pitch, access, *swizzle) for access in accesses))


def cycles(pitch, access, bits, base, shift):
    width, places = access
    mask = ((1 << bits) - 1) << (base + shift)
    total = 0
    for first in range(0, 32, 128 // width):
        words = [set() for _ in range(32)]
        for row, column in places[first : first + 128 // width]:
            address = row * pitch + column
            address ^= (address & mask) >> shift
            for word in range(address // 4, (address + width) // 4):
                words[word % 32].add(word)
        total += max(map(len, words))
    return total
