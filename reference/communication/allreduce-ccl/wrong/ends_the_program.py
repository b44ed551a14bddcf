# solmark: verdict=runtime_error
# solmark: with=shared/circulant.py
# A rank that has nothing to do ends its process.
import os

import circulant
from circulant import all_gather, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    if comm.rank * len(x) // comm.size == (comm.rank + 1) * len(x) // comm.size:
        os._exit(0)
    circulant.all_reduce(comm, x, out, maximum=maximum)
