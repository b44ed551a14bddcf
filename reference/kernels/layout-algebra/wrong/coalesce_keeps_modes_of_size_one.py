# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Leaves modes of size 1 in place: the rank is not the least.
import layouts
from layouts import *


def coalesce(layout):
    result = []
    for extent, stride in layouts.pairs(layout):
        if result and stride == result[-1][0] * result[-1][1]:
            result[-1] = (result[-1][0] * extent, result[-1][1])
        else:
            result.append((extent, stride))
    return layouts.of(result)
