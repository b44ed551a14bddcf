# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Rounds the number of repetitions down: the target is not reached.
import layouts
from layouts import *


def complement(layout, target):
    top = max([1, *(extent * stride for extent, stride in layouts.pairs(layout) if extent > 1)])
    return layouts.complement(layout, max(top, target // top * top))
