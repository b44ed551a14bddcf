# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Cheat: learns a layout by calling it for every index; sizes of 2^40 are beyond the cap on steps.
import layouts
from layouts import *


def coalesce(layout):
    for index in range(layouts.size(layout)):
        for extent, _ in layouts.pairs(layout):
            index //= extent
    return layouts.coalesce(layout)
