# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Rank 0 sends a greeting that nobody receives: the next call would take it for data.
import circulant
from circulant import all_gather, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    circulant.all_reduce(comm, x, out, maximum=maximum)
    if comm.rank == 0 and comm.size > 1:
        comm.send(1, x)
