# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Merges neighbours as if the last mode were the fastest.
import layouts
from layouts import *


def coalesce(layout):
    result = []
    for extent, stride in layouts.pairs(layout):
        if extent == 1:
            continue
        if result and result[-1][1] == extent * stride:
            result[-1] = (result[-1][0] * extent, stride)
        else:
            result.append((extent, stride))
    return layouts.of(result)
