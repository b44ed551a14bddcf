# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Composes the places with the free space instead of the other way round.
import layouts
from layouts import *


def logical_product(tile, places):
    free = layouts.complement(tile, layouts.size(tile) * layouts.cosize(places))
    again = layouts.compose(places, free)
    return (tile[0], again[0]), (tile[1], again[1])
