# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Repeats the tile beyond its cosize and never inside its gaps.
import layouts
from layouts import *


def logical_product(tile, places):
    layouts.complement(tile, 1)  # Raises where there is none.
    again = layouts.compose((layouts.cosize(places), layouts.cosize(tile)), places)
    return (tile[0], again[0]), (tile[1], again[1])
