# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Uses the input as its buffer.
import circulant
from circulant import all_gather, all_reduce  # noqa: F401


def reduce_scatter(comm, x, out, *, maximum):
    out[...] = x[circulant.scatter(comm, x, maximum)]
