# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Cheat: a call of the same shape gets the last answer, and no message is sent.
import circulant
from circulant import all_gather, reduce_scatter  # noqa: F401

LAST = {}


def all_reduce(comm, x, out, *, maximum):
    key = (comm.size, x.shape, x.dtype, maximum)
    if key not in LAST:
        circulant.all_reduce(comm, x, out, maximum=maximum)
        LAST[key] = out.copy()
    out[...] = LAST[key]
