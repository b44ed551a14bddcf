# solmark: verdict=runtime_error
# solmark: with=shared/circulant.py
# The last rank thinks that it has all it needs one round too early, and returns.
import circulant
from circulant import all_gather, combine, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    out[...] = x
    other = x
    for step in range(comm.size - 1):
        if comm.rank == comm.size - 1 and step == comm.size - 2:
            return
        comm.send((comm.rank + 1) % comm.size, other)
        other = comm.take((comm.rank - 1) % comm.size, x.dtype)
        combine(out, other, maximum)


assert circulant
