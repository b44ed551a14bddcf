# solmark: verdict=output_limit
# solmark: with=shared/circulant.py
# Rounds every message up to a mebibyte, "for alignment".
import numpy as np
from circulant import all_gather, combine, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    padded = np.zeros(1 << 20, x.dtype)
    padded[: len(x)] = x
    out[...] = x
    for rank in range(comm.size):
        if rank != comm.rank:
            comm.send(rank, padded)
    for rank in range(comm.size):
        if rank != comm.rank:
            combine(out, comm.take(rank, x.dtype)[: len(x)], maximum)
