# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Starts the swizzle at bit 2 although threads move 16 bytes as one.
import layouts
from layouts import *


def pick_swizzle(rows, pitch, accesses):
    return 3, 2, 5
