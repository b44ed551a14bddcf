# solmark: verdict=runtime_error
# solmark: with=shared/circulant.py
# A loop over all ranks that does not leave out its own.
import numpy as np
from circulant import all_gather, combine, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    for rank in range(comm.size):
        comm.send(rank, x)
    out[...] = x
    for rank in range(comm.size):
        if rank != comm.rank:
            combine(out, comm.take(rank, np.dtype(x.dtype)), maximum)
