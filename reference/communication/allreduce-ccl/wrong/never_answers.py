# solmark: verdict=time_limit
# solmark: with=shared/circulant.py
# With seven ranks the last one looks for a power of two that there is not, and never comes back.
import circulant
from circulant import all_gather, reduce_scatter  # noqa: F401


def next_power(size):
    power = 1
    while power != size:
        power = power * 2 % (1 << 62)
    return power


def all_reduce(comm, x, out, *, maximum):
    if comm.size == 7 and comm.rank == 6:
        next_power(comm.size)
    circulant.all_reduce(comm, x, out, maximum=maximum)
