# solmark: verdict=runtime_error
# solmark: with=shared/exchange.py
# Expert e on rank e // (count // n): the last experts are nobody's, or the last rank's.
import exchange
import numpy as np


def owner_of(count, ranks):
    return np.minimum(np.arange(count) // max(1, count // ranks), ranks - 1)


exchange.owner_of = owner_of
from exchange import combine, dispatch  # noqa: E402, F401
