# solmark: verdict=runtime_error
# solmark: with=shared/circulant.py
# Recursive doubling for any number of ranks: of three, rank 1 has no partner in the second round.
import circulant
from circulant import all_gather, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    out[...] = x
    circulant.double(comm, out, maximum)
