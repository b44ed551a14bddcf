# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Swaps bits above the tile: addresses leave it.
import layouts
from layouts import *


def pick_swizzle(rows, pitch, accesses):
    return 3, (rows * pitch).bit_length() - 1, 3
