# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Returns the list of offsets instead of a layout.
import layouts
from layouts import *


def coalesce(layout):
    return [sum(pair) for pair in layouts.pairs(layout)]
