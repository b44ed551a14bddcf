# solmark: verdict=runtime_error
# solmark: with=shared/circulant.py
# A ring in which everybody waits first: a deadlock.
from circulant import all_gather, combine, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    out[...] = x
    for _ in range(comm.size - 1):
        other = comm.take((comm.rank - 1) % comm.size, x.dtype)
        comm.send((comm.rank + 1) % comm.size, other)
        combine(out, other, maximum)
