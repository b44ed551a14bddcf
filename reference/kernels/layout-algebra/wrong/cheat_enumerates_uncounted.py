# solmark: verdict=time_limit
# solmark: with=shared/layouts.py
# Cheat: enumerates too, but first takes off what counts its steps; time ends it.
import layouts
from layouts import *

import sys


def coalesce(layout):
    sys.settrace(None)
    return uncounted(layout)


def uncounted(layout):
    for index in range(layouts.size(layout)):
        for extent, _ in layouts.pairs(layout):
            index //= extent
    return layouts.coalesce(layout)
