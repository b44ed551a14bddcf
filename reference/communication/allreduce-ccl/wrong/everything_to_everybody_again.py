# solmark: verdict=output_limit
# solmark: with=shared/circulant.py
# Sends its whole vector to everybody a hundred times, in case something is lost.
from circulant import all_gather, combine, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for _ in range(100):
        for rank in others:
            comm.send(rank, x)
    out[...] = x
    for rank in others:
        data = [comm.take(rank, x.dtype) for _ in range(100)]
        combine(out, data[-1], maximum)
