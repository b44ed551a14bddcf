# solmark: verdict=wrong_answer
# solmark: with=shared/layouts.py
# Loses the inner layout's modes: the function is right, its modes are gone.
import layouts
from layouts import *


def compose(outer, inner):
    return layouts.coalesce(layouts.compose(outer, inner))
