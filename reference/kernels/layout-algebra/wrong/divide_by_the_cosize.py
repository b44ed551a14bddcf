# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Takes the complement of the tile in the layout's cosize instead of in its size.
import layouts
from layouts import *


def logical_divide(layout, tile):
    rest = layouts.complement(tile, layouts.cosize(layout))
    return layouts.compose(layout, ((tile[0], rest[0]), (tile[1], rest[1])))
