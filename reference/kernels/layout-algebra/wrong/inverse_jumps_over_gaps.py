# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Goes on after a gap in the strides: the result is no inverse there.
import layouts
from layouts import *


def right_inverse(layout):
    result, reached, places, position = [], 1, [], 1
    for extent, stride in layouts.pairs(layout):
        places.append((stride, extent, position))
        position *= extent
    for stride, extent, position in sorted(place for place in places if place[1] > 1):
        if stride >= reached:
            result.append((extent, position))
            reached *= extent
    return layouts.of(layouts.merged(result))
