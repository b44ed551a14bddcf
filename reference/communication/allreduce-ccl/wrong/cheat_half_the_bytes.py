# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Cheat: every message in half precision, for half the bytes.
import circulant
import numpy as np
from circulant import all_gather, reduce_scatter  # noqa: F401


def all_reduce(comm, x, out, *, maximum):
    small = x.astype(np.float16) if x.dtype == np.float32 else x.copy()
    result = np.empty_like(small)
    circulant.all_reduce(comm, small, result, maximum=maximum)
    out[...] = result
