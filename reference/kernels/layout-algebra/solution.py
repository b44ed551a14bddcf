# solmark: verdict=accepted
# solmark: with=shared/layouts.py
# solmark: reaches=1.0
# solmark: library=none
# Works on modes alone, never on indices; tries every swizzle that fits.
from layouts import (
    coalesce,
    complement,
    compose,
    logical_divide,
    logical_product,
    pick_swizzle,
    right_inverse,
)

__all__ = [
    "coalesce",
    "complement",
    "compose",
    "logical_divide",
    "logical_product",
    "pick_swizzle",
    "right_inverse",
]
