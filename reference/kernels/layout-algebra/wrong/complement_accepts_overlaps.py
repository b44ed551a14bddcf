# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Never raises: overlapping and stride-0 modes get an answer.
import layouts
from layouts import *


def complement(layout, target):
    result, reached = [], 1
    modes = [(extent, stride) for extent, stride in layouts.pairs(layout) if extent > 1]
    for extent, stride in sorted(modes, key=lambda mode: mode[1]):
        stride = max(stride, reached)
        result.append((stride // reached, reached))
        reached = stride * extent
    result.append((-(-target // reached), reached))
    return layouts.of(layouts.merged(result))
