# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Takes the modes as they come instead of by increasing stride.
import layouts
from layouts import *


def complement(layout, target):
    result, reached = [], 1
    for extent, stride in layouts.pairs(layout):
        if extent == 1:
            continue
        if stride == 0 or stride % reached:
            raise ValueError("the layout does not tile a range")
        result.append((stride // reached, reached))
        reached = stride * extent
    result.append((-(-target // reached), reached))
    return layouts.of(layouts.merged(result))
