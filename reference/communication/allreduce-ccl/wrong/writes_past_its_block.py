# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Writes the whole sum where only its own block has room: over whatever lies behind.
import numpy as np
from circulant import all_gather, all_reduce  # noqa: F401


def reduce_scatter(comm, x, out, *, maximum):
    whole = np.lib.stride_tricks.as_strided(out, (len(out) + 4,), out.strides) if len(out) else out
    result = np.empty_like(x)
    all_reduce(comm, x, result, maximum=maximum)
    first = comm.rank * len(x) // comm.size
    whole[:] = np.resize(result[first:], len(whole))
